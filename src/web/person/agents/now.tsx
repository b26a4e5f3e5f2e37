/** What an agent does now: whether it is silent, what it waits for, what it works on, or since when it is idle. */

import { BellOff, Hourglass, type LucideIcon, Moon, Plug, Zap } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import type { Key, Question, Task } from "../../state/api.ts";
import { Ago } from "../../ui/ago.tsx";
import { ProgressBar } from "../../ui/parts.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { momentOf } from "../../ui/time.ts";
import { useNow } from "../../ui/use-now.ts";
import { useSession, useStore } from "../use-store.ts";
import { Counts } from "./agents.tsx";

/** Questions and tasks that are shown, of each. */
const SHOWN = 3;

export function AgentNow({ agent }: { agent: Key }) {
  const { id, last_used_at } = agent;
  const { store } = useSession();
  const version = useStore(({ versions }) => versions.tasks);
  const minute = useNow(60);
  const waiting = useStore((one) => one.pending()).filter(({ key_id }) => key_id === id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `store` is mutated in place.
  const { working, ended, has_worked, silent_since } = useMemo(
    () => workOf(store.all.tasks.values(), id),
    [store, id, version],
  );
  const is_busy = waiting.length + working.length > 0;
  // The time of its last use comes only with a list of keys.
  const is_new = last_used_at === null && !has_worked;
  return (
    <section aria-label="Now" className="card mb-4 space-y-4 p-5">
      <h2 className="font-semibold text-base">Now</h2>
      {silent_since !== null && (
        <Row
          icon={BellOff}
          title={`Silent since ${momentOf(silent_since, minute)}`}
          color="text-warn"
        >
          It has shown no sign of life for longer than one of its tasks allows.
        </Row>
      )}
      {waiting.slice(0, SHOWN).map((question) => (
        <Waiting key={question.id} question={question} />
      ))}
      <Rest count={waiting.length - SHOWN} href="#/questions" what="waiting for you" />
      {working.slice(0, SHOWN).map((task) => (
        <Working key={task.id} task={task} />
      ))}
      <Rest count={working.length - SHOWN} href={`#/tasks?agent=${id}`} what="in progress" />
      {!is_busy &&
        (is_new ? (
          <Row icon={Plug} title="Not connected yet">
            <a
              href={`#/agents/${id}/setup`}
              className="font-medium text-accent underline underline-offset-2"
            >
              Connect it
            </a>
          </Row>
        ) : (
          <Row icon={Moon} title={ended > 0 ? `Idle since ${momentOf(ended, minute)}` : "Idle"}>
            {last_used_at !== null && (
              <>
                Last request <Ago at={last_used_at} />
              </>
            )}
          </Row>
        ))}
      <div className="border-line border-t pt-1">
        <Counts id={id} />
        <a
          href={`#/tasks?agent=${id}`}
          className="mt-3 inline-block font-medium text-accent underline underline-offset-2"
        >
          View tasks
        </a>
      </div>
    </section>
  );
}

/**
 * The tasks of an agent that are in progress, the last updated first. `ended`: when the last other one ended; 0: none
 * did. `silent_since`: null if it is not silent.
 */
function workOf(tasks: Iterable<Task>, key_id: string) {
  const working: Task[] = [];
  let ended = 0;
  let has_worked = false;
  let silent_since: number | null = null;
  for (const task of tasks) {
    if (task.key_id !== key_id) continue;
    has_worked ||= task.source === "agent";
    // A task from an older version's archive lacks the field.
    if (task.silent_since) silent_since = Math.max(silent_since ?? 0, task.silent_since);
    if (task.status === "in_progress") working.push(task);
    else if (task.status !== "todo") {
      ended = Math.max(ended, task.completed_at ?? task.updated_at);
    }
  }
  working.sort((a, b) => b.updated_at - a.updated_at);
  return { working, ended, has_worked, silent_since };
}

interface RowProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly color?: string;
  readonly children: ReactNode;
}

function Row({ icon: Icon, title, color = "text-accent", children }: RowProps) {
  return (
    <div className="flex items-start gap-3">
      <Icon aria-hidden className={`mt-0.5 size-5 shrink-0 ${color}`} />
      <div className="min-w-0 flex-1">
        <p className="text-faint text-sm">{title}</p>
        <div className="said">{children}</div>
      </div>
    </div>
  );
}

function Waiting({ question: { id, prompt, action } }: { question: Question }) {
  return (
    <Row icon={Hourglass} title="Waiting for you">
      <a href={`#/questions/${id}`} className="line-clamp-2 font-medium hover:underline">
        <bdi dir="auto">{action ? prompt : <OneLine text={prompt} />}</bdi>
      </a>
    </Row>
  );
}

function Working({ task: { id, title, status_note, progress, updated_at } }: { task: Task }) {
  return (
    <Row icon={Zap} title="Working on">
      <a href={`#/tasks/${id}`} className="line-clamp-2 font-medium hover:underline">
        <bdi dir="auto">{title}</bdi>
      </a>
      {status_note !== null && (
        <p dir="auto" className="text-soft">
          <OneLine text={status_note} />
        </p>
      )}
      <p className="mt-0.5 text-faint text-sm">
        {progress !== null && `${progress}% · `}
        <Ago at={updated_at} />
      </p>
      {progress !== null && (
        <div className="mt-1.5">
          <ProgressBar value={progress} label="Progress" />
        </div>
      )}
    </Row>
  );
}

function Rest({ count, href, what }: { count: number; href: string; what: string }) {
  if (count <= 0) return null;
  return (
    <a href={href} className="block pl-8 text-faint text-sm hover:underline">
      {`${count} more ${what}`}
    </a>
  );
}
