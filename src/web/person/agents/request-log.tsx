/** The request log of an agent: what it called, and how each call ended. */

import { History, RotateCw } from "lucide-react";
import { useEffect } from "react";
import { every } from "../../clock.ts";
import type { Entry } from "../../state/api.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { Button } from "../../ui/button.tsx";
import { Badge, Empty, More, Problem, Skeleton } from "../../ui/parts.tsx";
import { duration } from "../../ui/time.ts";
import { usePagination } from "../use-pagination.ts";
import { useSession } from "../use-store.ts";
import { clientName } from "../words.ts";

/** Seconds between refreshes: the log has no events (§7.3.5). */
const EVERY = 10;

export function RequestLog({ id }: { id: string }) {
  const { api } = useSession();
  const { items, fault, busy, has_more, refresh, more } = usePagination<Entry>(
    (cursor) => api.keys.activity.query({ key_id: id, ...(cursor !== null && { cursor }) }),
    id,
  );
  useEffect(
    () =>
      every(EVERY, () => {
        if (!document.hidden) void refresh();
      }),
    [refresh],
  );
  return (
    <section aria-label="Request log">
      <h2 className="mb-1 font-semibold text-base">Request log</h2>
      <div className="mb-3 flex items-center gap-3">
        <p className="min-w-0 flex-1 text-faint text-sm">
          Up to 200 different requests of the past 7 days, without their content.
        </p>
        <Button variant="quiet" onClick={() => void refresh()}>
          <RotateCw aria-hidden className="size-4" />
          Refresh
        </Button>
      </div>
      {fault && <Problem>{fault.message}</Problem>}
      {items === null ? (
        !fault && <Skeleton label="Loading request log" />
      ) : items.length === 0 ? (
        <Empty icon={History} title="No requests yet">
          This agent's requests will appear here.
        </Empty>
      ) : (
        <ul className="card divide-y divide-line overflow-hidden">
          {items.map((entry) => (
            <li key={entry.id} className="px-4 py-3">
              <Part name="entry">
                <Line entry={entry} />
              </Part>
            </li>
          ))}
        </ul>
      )}
      {has_more && <More busy={busy} onClick={() => void more()} />}
    </section>
  );
}

function Line({ entry }: { entry: Entry }) {
  const { client, host, count } = entry;
  return (
    <>
      <p className="flex items-start gap-3">
        <code className="said min-w-0 flex-1 font-mono text-[0.8125rem] leading-6">
          {entry.action}
        </code>
        {entry.status === "error" ? (
          <Badge tone="danger">{entry.code}</Badge>
        ) : (
          <Badge tone="ok">ok</Badge>
        )}
      </p>
      {entry.message !== null && <p className="said text-danger text-sm">{entry.message}</p>}
      <p className="text-faint text-sm">
        <Ago at={entry.at} />
        {` · ${duration(entry.duration_ms)} · ${entry.surface === "mcp" ? "MCP" : "REST"}`}
        {client && (
          <>
            {" · "}
            <bdi className="said">{clientName(client)}</bdi>
          </>
        )}
        {host !== null && (
          <>
            {" · "}
            <bdi className="said">{host}</bdi>
          </>
        )}
        {count > 1 && (
          <>
            {` · ${count.toLocaleString("en")} times, last `}
            <Ago at={entry.last_at} />
          </>
        )}
      </p>
    </>
  );
}
