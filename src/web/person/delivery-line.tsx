/** One line that says how far a question got on the person's devices and channels. */

import { useEffect, useState } from "react";
import { after, now } from "../clock.ts";
import type { Delivery } from "../state/api.ts";
import { isolated } from "../ui/isolated.ts";
import { momentOf } from "../ui/time.ts";
import { useSession } from "./use-store.ts";

/** Seconds until deliveries are read again: first soon, since most are sent by then. */
const AGAIN = [3, 30] as const;
/** Targets that are named, at most; the others are counted. */
const NAMED = 3;

/** Polls the deliveries of a question while its card is in view. `id`: of the question. */
export function DeliveryLine({ id, in_view }: { id: string; in_view: boolean }) {
  const { receipts } = useSession();
  const [deliveries, setDeliveries] = useState<readonly Delivery[]>([]);
  useEffect(() => {
    if (!in_view) return;
    const ended = new AbortController();
    let cancel = () => {};
    const read = async (times: number) => {
      const found = await receipts.read(id, ended.signal);
      if (ended.signal.aborted) return;
      if (found) setDeliveries(found);
      cancel = after(AGAIN[Math.min(times, AGAIN.length - 1)]!, () => void read(times + 1));
    };
    void read(0);
    return () => {
      ended.abort();
      cancel();
    };
  }, [id, in_view, receipts]);
  const text = describeDeliveries(deliveries, now());
  if (text === null) return null;
  // In the padding of the card, so that nothing moves when the line appears.
  return (
    <p className="absolute inset-x-4 bottom-1.5 truncate text-faint text-xs leading-4 sm:inset-x-5">
      {text}
    </p>
  );
}

/**
 * Deliveries in words; null if there is nothing to say. The page itself is left out: the person is
 * reading it.
 */
function describeDeliveries(deliveries: readonly Delivery[], at: number): string | null {
  const others = deliveries.filter(({ target }) => target.type !== "page");
  const of = (...statuses: Delivery["status"][]) =>
    others.filter(({ status, shown_at, opened_at }) =>
      // A notification that was seen has arrived, whatever the service reported.
      statuses.includes(shown_at !== null || opened_at !== null ? "sent" : status),
    );
  const [sent, queued, failed] = [of("sent"), of("queued"), of("failed")];
  const parts: string[] = [];
  if (sent.length > 0) parts.push(`Sent to ${labelsOf(sent)}${seenOf(sent, at)}`);
  if (queued.length > 0) parts.push(`Sending to ${labelsOf(queued)}`);
  if (failed.length > 0) parts.push(`Not delivered to ${labelsOf(failed)}`);
  return parts.length === 0 ? null : parts.join(" · ");
}

function seenOf(sent: readonly Delivery[], at: number): string {
  const first = (times: readonly (number | null)[]) =>
    Math.min(...times.map((time) => time ?? Infinity));
  const opened = first(sent.map(({ opened_at }) => opened_at));
  if (opened < Infinity) return `, opened ${momentOf(opened, at)}`;
  const shown = first(sent.map(({ shown_at }) => shown_at));
  return shown < Infinity ? `, seen ${momentOf(shown, at)}` : "";
}

const list = new Intl.ListFormat("en");

function labelsOf(deliveries: readonly Delivery[]): string {
  const labels = [...new Set(deliveries.map(({ target }) => isolated(target.label)))];
  const more = labels.length - NAMED;
  const named = more > 0 ? [...labels.slice(0, NAMED), `${more} more`] : labels;
  return list.format(named);
}
