/** The timeline of an agent: its tasks, status notes, questions and messages by day, newest first. */

import {
  CircleCheck,
  CirclePlus,
  ListTodo,
  Mail,
  MessageCircleQuestion,
  StickyNote,
} from "lucide-react";
import { memo, type ReactNode, useMemo, useRef } from "react";
import type { Item, Question } from "../../state/api.ts";
import type { Store } from "../../state/store.ts";
import { LineWithAgo } from "../../ui/ago.tsx";
import { Badge, Empty, More, Problem } from "../../ui/parts.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { dayOf } from "../../ui/time.ts";
import { useNow } from "../../ui/use-now.ts";
import { VirtualList } from "../../ui/virtual-list.tsx";
import { QuestionBadge } from "../questions/questions.tsx";
import { useOlderQuestions } from "../use-older-questions.ts";
import { labelOf, useKey, useSession, useStore, useTask } from "../use-store.ts";
import { STATUS_NAMES, STATUS_TONES } from "../words.ts";
import type { Note } from "./use-timeline-extras.ts";

type Row =
  | { readonly kind: "day"; readonly id: string; readonly at: number }
  | {
      readonly kind: "created" | "finished";
      readonly id: string;
      readonly task_id: string;
      readonly at: number;
    }
  | {
      readonly kind: "question";
      readonly id: string;
      readonly question: Question;
      readonly at: number;
    }
  | { readonly kind: "note"; readonly id: string; readonly note: Note; readonly at: number }
  | { readonly kind: "message"; readonly id: string; readonly item: Item; readonly at: number };

interface Extras {
  readonly notes: readonly Note[];
  readonly messages: readonly Item[];
}

/** Height of a row in pixels until it is measured. */
const ROW = 76;
const DAY = 44;

/**
 * The rows of an agent: each task when it was created and finished, each note when it was set, each question when it
 * was asked, and each message when it was sent.
 */
function rowsOf(
  { all }: Store,
  key_id: string,
  older: readonly Question[],
  { notes, messages }: Extras,
): Row[] {
  const rows: Row[] = [];
  for (const { id, key_id: of, created_at, completed_at } of all.tasks.values()) {
    if (of !== key_id) continue;
    rows.push({ kind: "created", id: `created ${id}`, task_id: id, at: created_at });
    if (completed_at !== null) {
      rows.push({ kind: "finished", id: `finished ${id}`, task_id: id, at: completed_at });
    }
  }
  const questions = new Map(older.map((question) => [question.id, question]));
  for (const question of all.questions.values()) {
    if (question.key_id === key_id) questions.set(question.id, question);
  }
  for (const question of questions.values()) {
    rows.push({ kind: "question", id: question.id, question, at: question.created_at });
  }
  for (const note of notes) {
    if (!all.tasks.has(note.task_id)) continue;
    rows.push({ kind: "note", id: `note ${note.task_id} ${note.at}`, note, at: note.at });
  }
  for (const item of messages) {
    rows.push({ kind: "message", id: item.id, item, at: item.created_at });
  }
  rows.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  const with_days: Row[] = [];
  let day = "";
  for (const row of rows) {
    const of = dayOf(row.at);
    if (of !== day) with_days.push({ kind: "day", id: `day ${of}`, at: row.at });
    day = of;
    with_days.push(row);
  }
  return with_days;
}

export function Timeline({ id, extras }: { id: string; extras: Extras }) {
  const { store } = useSession();
  const list = useRef<HTMLUListElement>(null);
  const { older, has_more, busy, fault, load } = useOlderQuestions(id);
  // Not the version of the tasks, which changes more often: rows move only when the order does.
  const tasks = useStore(({ order }) => order.version());
  const questions = useStore(({ versions }) => versions.questions);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `store` is mutated in place.
  const rows = useMemo(
    () => rowsOf(store, id, older, extras),
    [store, id, older, extras, tasks, questions],
  );
  return (
    <section aria-label="Timeline">
      {rows.length === 0 ? (
        <Empty icon={ListTodo} title="Nothing yet">
          The agent's tasks, notes and questions will appear here, and your messages to it.
        </Empty>
      ) : (
        <VirtualList
          list={list}
          label="Timeline"
          rows={rows}
          estimate={(row) => (row?.kind === "day" ? DAY : ROW)}
        >
          {(row) => <Entry row={row} of={id} />}
        </VirtualList>
      )}
      {fault && <Problem>{fault.message}</Problem>}
      {has_more && (
        <More busy={busy} onClick={() => void load()}>
          Show older questions
        </More>
      )}
    </section>
  );
}

const Entry = memo(({ row, of }: { row: Row; of: string }) => {
  if (row.kind === "day") return <Day at={row.at} />;
  if (row.kind === "question") return <QuestionEntry question={row.question} />;
  if (row.kind === "note") return <NoteEntry note={row.note} />;
  if (row.kind === "message") return <MessageEntry item={row.item} of={of} />;
  return <TaskEntry id={row.task_id} kind={row.kind} at={row.at} />;
});

function Day({ at }: { at: number }) {
  const now = useNow(60);
  const names: Record<string, string> = {
    [dayOf(now)]: "Today",
    [dayOf(now - 86_400)]: "Yesterday",
  };
  return (
    <h2 className="pt-3 pb-2 font-semibold text-faint text-sm">{names[dayOf(at)] ?? dayOf(at)}</h2>
  );
}

interface LineProps {
  readonly href: string;
  readonly icon: typeof ListTodo;
  readonly color: string;
  readonly event: ReactNode;
  readonly at: number;
  readonly text: ReactNode;
  readonly children?: ReactNode;
}

function Line({ href, icon: Icon, color, event, at, text, children }: LineProps) {
  return (
    <a
      href={href}
      className="mb-2 flex items-start gap-3 rounded-2xl border border-line bg-surface px-4 py-3 -outline-offset-4 hover:bg-sunken/50"
    >
      <Icon aria-hidden className={`mt-0.5 size-5 shrink-0 ${color}`} />
      <span className="min-w-0 flex-1">
        <span className="flex items-center gap-2">
          <span className="flex min-w-0 flex-1 text-faint text-sm">
            <LineWithAgo at={at} separator=", ">
              {event}
            </LineWithAgo>
          </span>
          {children}
        </span>
        <bdi dir="auto" className="said line-clamp-2 font-medium">
          {text}
        </bdi>
      </span>
    </a>
  );
}

interface TaskEntryProps {
  readonly id: string;
  readonly kind: "created" | "finished";
  readonly at: number;
}

function TaskEntry({ id, kind, at }: TaskEntryProps) {
  const task = useTask(id);
  if (!task) return null;
  const { title, status } = task;
  const of = { href: `#/tasks/${id}`, at, text: title };
  if (kind === "finished") {
    return <Line {...of} icon={CircleCheck} color="text-ok" event="Task finished" />;
  }
  return (
    <Line {...of} icon={CirclePlus} color="text-faint" event="Task created">
      <Badge tone={STATUS_TONES[status]}>{STATUS_NAMES[status]}</Badge>
    </Line>
  );
}

function QuestionEntry({ question }: { question: Question }) {
  const { id, created_at, prompt, answer, action } = question;
  return (
    <Line
      href={`#/questions/${id}`}
      icon={MessageCircleQuestion}
      color="text-accent"
      event={
        answer === null ? (
          "Asked"
        ) : (
          <>
            {"Asked, you answered "}
            <bdi>{answer}</bdi>
          </>
        )
      }
      at={created_at}
      text={action ? prompt : <OneLine text={prompt} />}
    >
      <QuestionBadge question={question} />
    </Line>
  );
}

function NoteEntry({ note: { task_id, at, text, by } }: { note: Note }) {
  const task = useTask(task_id);
  if (!task) return null;
  return (
    <Line
      href={`#/tasks/${task_id}`}
      icon={StickyNote}
      color="text-faint"
      event={by === "account" ? "Your note" : "Note"}
      at={at}
      text={<OneLine text={text} />}
    >
      <bdi dir="auto" className="max-w-[50%] truncate text-faint text-sm">
        {task.title}
      </bdi>
    </Line>
  );
}

function MessageEntry({ item, of }: { item: Item; of: string }) {
  const { key_id, created_at, text, from, read_at } = item;
  const to = useKey(key_id);
  const [direction, agent] =
    key_id !== of
      ? ["Message to ", labelOf(to)]
      : from.kind === "account"
        ? ["Message from you"]
        : ["Message from ", from.label];
  return (
    <Line
      href={`#/agents/${key_id}/inbox`}
      icon={Mail}
      color="text-accent"
      event={
        <>
          {direction}
          {agent && <bdi>{agent}</bdi>}
        </>
      }
      at={created_at}
      text={text}
    >
      <Badge tone={read_at === null ? "accent" : "plain"}>
        {read_at === null ? "Unread" : "Read"}
      </Badge>
    </Line>
  );
}
