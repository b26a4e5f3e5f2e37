/** The list of agents: the tasks of each, and when it was last used. */

import { Bot, Plus } from "lucide-react";
import { useEffect } from "react";
import { every } from "../../clock.ts";
import type { Key } from "../../state/api.ts";
import { serverUrl } from "../../state/server-url.ts";
import { AgoInLink } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { ButtonLink } from "../../ui/button.tsx";
import { Badge, Empty, Heading, NotConnected, Skeleton } from "../../ui/parts.tsx";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { useDeleting } from "../changes.ts";
import { useSession, useStore } from "../use-store.ts";
import { clientName } from "../words.ts";
import { WriteButton } from "../write-button.tsx";

/** Seconds between refreshes of `last_used_at`. */
const EVERY = 60;

/**
 * Polls `last_used_at` of all keys every `seconds` while mounted: it has no event
 * (§7.3.4).
 */
export function useLastUse(seconds = EVERY): void {
  const { api, store } = useSession();
  const live = useStore((one) => one.connection() === "live");
  useEffect(() => {
    const refresh = async () => {
      const { keys } = await api.keys.list.query({}).catch(() => ({ keys: [] }));
      for (const { id, last_used_at } of keys) {
        const key = store.all.keys.get(id);
        if (key && key.last_used_at !== last_used_at) store.put("keys", { ...key, last_used_at });
      }
    };
    if (!live) return;
    void refresh();
    return every(seconds, () => void refresh());
  }, [api, store, live, seconds]);
}

/**
 * Loads the unread counts after each connect, as events with their changes may have been missed.
 */
function useUnread(): void {
  const { api, store } = useSession();
  const loads = useStore((one) => one.loads());
  useEffect(() => {
    let ended = false;
    const refresh = async () => {
      for (const { id } of store.keys()) {
        const before = store.unreadOf(id);
        const found = await api.inbox.ofKey.query({ key_id: id, limit: 1 }).catch(() => null);
        if (ended) return;
        // An event that arrived in the meantime is newer.
        if (found && store.unreadOf(id) === before) store.setUnread(id, found.unreceived);
      }
    };
    if (loads > 0) void refresh();
    return () => {
      ended = true;
    };
  }, [api, store, loads]);
}

export function AgentsView() {
  useLastUse();
  useUnread();
  const in_trial = useTrialEnd() !== null;
  const deleting = useDeleting();
  const keys = useStore((store) => store.keys()).filter(({ id }) => !deleting.has(id));
  const known = useStore((store) => store.knownAt() !== null || store.versions.keys > 0);
  const offline = useStore((store) => store.connection() === "offline");
  return (
    <>
      <Heading
        actions={
          !in_trial && (
            <ButtonLink variant="primary" href="#/agents/new">
              <Plus aria-hidden className="size-4.5" />
              New agent
            </ButtonLink>
          )
        }
      >
        Agents
      </Heading>
      {keys.length > 0 ? (
        <ul className="space-y-3">
          {keys.map((key) => (
            <li key={key.id}>
              <Part name="agent">
                <AgentCard agent={key} />
              </Part>
            </li>
          ))}
        </ul>
      ) : known ? (
        <Empty icon={Bot} title="No agents yet">
          {in_trial ? "Your agents appear here." : "Add one to get its key and setup instructions."}
        </Empty>
      ) : offline ? (
        <NotConnected what="Agents" />
      ) : (
        <Skeleton label="Loading agents" />
      )}
      <p className="mt-6 text-faint text-sm">
        To write your own agent, see <DocsLink />.
        {!in_trial && (
          <>
            {" If another browser shows a code to approve a program, "}
            <a href="#/approve" className="font-medium text-accent underline underline-offset-2">
              enter the code
            </a>
            .
          </>
        )}
      </p>
      <TrialNote what="add agents or approve programs" />
    </>
  );
}

/** Link to the documentation of the REST interface. */
export function DocsLink() {
  return (
    <a
      href={serverUrl("docs")}
      target="_blank"
      rel="noreferrer"
      className="font-medium text-accent underline underline-offset-2"
    >
      the HTTP interface
    </a>
  );
}

function AgentCard({ agent }: { agent: Key }) {
  const unread = useStore((store) => store.unreadOf(agent.id)) ?? 0;
  const silent = useStore((store) => store.silent().has(agent.id));
  const waiting = useStore((store) => store.pending()).some(({ key_id }) => key_id === agent.id);
  return (
    <div className="card flex flex-col transition-colors hover:border-edge">
      <a href={`#/agents/${agent.id}`} className="block rounded-2xl p-4 pb-2 sm:p-5 sm:pb-2">
        <p className="flex items-center gap-2">
          <bdi dir="auto" className="min-w-0 flex-1 truncate text-left font-semibold text-base">
            {agent.label}
          </bdi>
          {silent && <Badge tone="warn">Silent</Badge>}
          {unread > 0 && <Badge tone="accent">{unread} unread by the agent</Badge>}
        </p>
        <p className="mt-0.5 truncate text-faint text-sm">
          {waiting && <span className="font-medium text-accent">{"Waiting for you · "}</span>}
          <LastSeen agent={agent} />
        </p>
        <Counts id={agent.id} />
      </a>
      <WriteButton id={agent.id} className="mx-1.5 mb-1.5 self-start text-sm sm:mx-2.5">
        Write
      </WriteButton>
    </div>
  );
}

function LastSeen({ agent: { last_used_at, last_client, last_host } }: { agent: Key }) {
  if (last_used_at === null && !last_client && !last_host) return <>Never used</>;
  return (
    <>
      {last_client && <bdi>{clientName(last_client)}</bdi>}
      {last_client && last_host && " on "}
      {last_host && <bdi>{last_host}</bdi>}
      {last_used_at !== null && (
        <>
          {last_client || last_host ? " · used " : "Used "}
          <AgoInLink at={last_used_at} />
        </>
      )}
    </>
  );
}

/** Number of an agent's tasks in each status. `id`: of the agent. */
export function Counts({ id }: { id: string }) {
  const counts = useStore((store) => store.counts().get(id));
  const shown = [
    ["In progress", counts?.in_progress],
    ["To do", counts?.todo],
    ["Done", counts?.done],
    ["Cancelled", counts?.cancelled],
  ] as const;
  return (
    <dl className="mt-4 grid grid-cols-2 gap-2 min-[23rem]:grid-cols-4">
      {shown.map(([name, count = 0]) => (
        <div key={name} className="flex flex-col-reverse">
          <dt className="truncate text-faint text-xs">{name}</dt>
          <dd className="font-semibold text-lg tabular-nums leading-6">
            {count.toLocaleString("en")}
          </dd>
        </div>
      ))}
    </dl>
  );
}
