/** The agents: a key each, with what it works on and where it was last seen. */

import { Bot, CloudOff, Plus } from "lucide-react";
import { useEffect } from "react";
import { every } from "../clock.ts";
import type { Key } from "../state/api.ts";
import { ButtonLink } from "../ui/button.tsx";
import { Ago, Badge, Empty, Heading, Skeleton } from "../ui/parts.tsx";
import { useSession, useStore } from "./use-store.ts";

/** Seconds between two looks at when the keys were used. */
const EVERY = 60;

/** No event tells of `last_used_at` (docs/interface.md 7), so it is looked up while it is shown. */
export function useLastUse(): void {
  const { api, store } = useSession();
  const live = useStore((one) => one.link() === "live");
  useEffect(() => {
    const look = async () => {
      const { keys } = await api.keys.list.query({}).catch(() => ({ keys: [] }));
      for (const { id, last_used_at } of keys) {
        const key = store.all.keys.get(id);
        if (key && key.last_used_at !== last_used_at) store.put("keys", { ...key, last_used_at });
      }
    };
    if (!live) return;
    void look();
    return every(EVERY, () => void look());
  }, [api, store, live]);
}

/** What waits unread is told by events alone, so it is looked up whenever some may have been missed. */
function useUnread(): void {
  const { api, store } = useSession();
  const loads = useStore((one) => one.loads());
  useEffect(() => {
    let over = false;
    const look = async () => {
      for (const { id } of store.keys()) {
        const before = store.unreadOf(id);
        const found = await api.inbox.ofKey.query({ key_id: id, limit: 1 }).catch(() => null);
        if (over) return;
        // An event of meanwhile is newer.
        if (found && store.unreadOf(id) === before) store.setUnread(id, found.unread);
      }
    };
    if (loads > 0) void look();
    return () => {
      over = true;
    };
  }, [api, store, loads]);
}

export function AgentsView() {
  useLastUse();
  useUnread();
  const keys = useStore((store) => store.keys());
  const known = useStore((store) => store.knownAt() !== null || store.versions.keys > 0);
  const offline = useStore((store) => store.link() === "offline");
  return (
    <>
      <Heading
        actions={
          <ButtonLink look="primary" href="#/agents/new">
            <Plus aria-hidden className="size-4.5" />
            New agent
          </ButtonLink>
        }
      >
        Agents
      </Heading>
      {keys.length > 0 ? (
        <ul className="space-y-3">
          {keys.map((key) => (
            <li key={key.id}>
              <AgentCard agent={key} />
            </li>
          ))}
        </ul>
      ) : known ? (
        <Empty icon={Bot} title="No agents yet">
          Add one to get a key, and the lines that connect it.
        </Empty>
      ) : offline ? (
        <Empty icon={CloudOff} title="Nothing is known yet">
          Agents are here as soon as the server can be reached.
        </Empty>
      ) : (
        <Skeleton label="Loading agents" />
      )}
    </>
  );
}

function AgentCard({ agent }: { agent: Key }) {
  const unread = useStore((store) => store.unreadOf(agent.id)) ?? 0;
  return (
    <a
      href={`#/agents/${agent.id}`}
      className="card block p-4 transition-colors hover:border-edge sm:p-5"
    >
      <p className="flex items-center gap-2">
        <bdi dir="auto" className="min-w-0 flex-1 truncate font-semibold text-base">
          {agent.label}
        </bdi>
        {unread > 0 && <Badge tone="accent">{unread} unread</Badge>}
      </p>
      <p className="mt-0.5 truncate text-faint text-sm">
        <LastSeen agent={agent} />
      </p>
      <Counts id={agent.id} />
    </a>
  );
}

/** By what, from where and when it was last used. */
function LastSeen({ agent: { last_used_at, last_client, last_host } }: { agent: Key }) {
  if (last_used_at === null && !last_client && !last_host) return "Not used yet";
  return (
    <>
      {last_client && <bdi>{`${last_client.name} ${last_client.version}`}</bdi>}
      {last_client && last_host && " on "}
      {last_host && <bdi>{last_host}</bdi>}
      {last_used_at !== null && (
        <>
          {(last_client || last_host) && " · "}
          <Ago at={last_used_at} />
        </>
      )}
    </>
  );
}

/** Where there is nothing because there is no agent yet: the way to the first one. */
export function FirstAgent() {
  const none = useStore((store) => store.loads() > 0 && store.keys().length === 0);
  if (!none) return null;
  return (
    <ButtonLink look="primary" href="#/agents/new" className="mt-4">
      Add an agent
    </ButtonLink>
  );
}

/** Its tasks by status. */
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
