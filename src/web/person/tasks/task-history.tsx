/** The history of a task as a timeline: what changed, who changed it, and when. */

import { useState } from "react";
import type { HistoryEntry, HistoryPage, Status, Task } from "../../state/api.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { More, Problem } from "../../ui/parts.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { usePaced } from "../use-paced.ts";
import { useSession } from "../use-store.ts";

/** Entries that are shown at first, how many "Show more" adds, and those of a list page at most. */
const FIRST = 10;
const STEP = 50;
const MOST = 100;
/** Seconds between two reads while the task keeps changing. */
const PACE = 2;

const PARTIES: Readonly<Record<HistoryEntry["by"], string>> = {
  agent: "Agent",
  account: "You",
  server: "Relay",
};

const MOVED: Readonly<Record<Status, string>> = {
  todo: "To do",
  in_progress: "Started",
  done: "Finished",
  cancelled: "Cancelled",
};

/** What an entry changed; `before` is the entry before it, undefined for the first that is known. */
function changesOf(entry: HistoryEntry, before: HistoryEntry | undefined): string {
  const { status, progress } = entry;
  const words: string[] = [];
  if (before && before.status !== status) words.push(MOVED[status]);
  const is_done = status === "done" && progress === 100;
  if (before?.progress !== progress && progress !== null && !is_done) words.push(`${progress}%`);
  if (before && before.progress !== null && progress === null) words.push("Progress removed");
  if (before?.status_note && entry.status_note === null && words.length === 0) {
    words.push("Note removed");
  }
  return words.join(", ");
}

export function TaskHistory({ task }: { task: Task }) {
  const { api } = useSession();
  const version = usePaced(`${task.id} ${task.updated_at}`, PACE);
  const [wanted, setWanted] = useState(FIRST);
  // All that is shown, anew: an entry may have taken the place of another.
  const { value, fault } = useLoaded(`${version} ${wanted}`, async () => {
    const items: HistoryEntry[] = [];
    let cursor: string | null = null;
    do {
      const limit = Math.min(wanted - items.length, MOST);
      const query = { task_id: task.id, limit, ...(cursor !== null && { cursor }) };
      const page: HistoryPage = await api.tasks.history.query(query);
      items.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null && items.length < wanted);
    return { items, wanted, has_more: cursor !== null };
  });
  if (value === null) return fault && <Problem>{fault.message}</Problem>;
  const { items, has_more } = value;
  return (
    <section aria-label="History">
      <h3 className="mb-3 font-semibold text-faint text-sm">History</h3>
      <ol className="space-y-3.5 border-line border-l-2 pl-4">
        {items.map((entry, i) => (
          <li key={entry.at}>
            <Part name="entry">
              <Entry
                entry={entry}
                before={items[i + 1]}
                created={entry.at === task.created_at}
                cut={i === items.length - 1 && has_more}
              />
            </Part>
          </li>
        ))}
      </ol>
      {fault && <Problem>{fault.message}</Problem>}
      {has_more && (
        <More
          busy={value.wanted !== wanted && !fault}
          onClick={() => setWanted(items.length + STEP)}
        />
      )}
    </section>
  );
}

interface EntryProps {
  readonly entry: HistoryEntry;
  readonly before: HistoryEntry | undefined;
  readonly created: boolean;
  /** The entry before it is on a list page that was not read. */
  readonly cut: boolean;
}

function Entry({ entry, before, created, cut }: EntryProps) {
  const { status_note: note } = entry;
  const changed = created ? "Created" : changesOf(entry, before);
  const is_new_note = note !== null && note !== before?.status_note;
  return (
    <>
      {is_new_note && (
        <p dir="auto" className="said">
          <OneLine text={note} />
        </p>
      )}
      <p className="text-faint text-sm">
        {(changed !== "" || (cut && !is_new_note)) && (
          <>
            <span className="font-medium text-soft">{changed || MOVED[entry.status]}</span>
            {" · "}
          </>
        )}
        {PARTIES[entry.by]}
        {" · "}
        <Ago at={entry.at} />
      </p>
    </>
  );
}
