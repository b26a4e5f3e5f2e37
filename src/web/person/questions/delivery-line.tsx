/** One line that says how far a question got on the person's devices and channels. */

import { Fragment, useEffect, useState } from "react";
import { after, now } from "../../clock.ts";
import type { Delivery } from "../../state/api.ts";
import { classes } from "../../ui/classes.ts";
import { isolated } from "../../ui/isolated.ts";
import { momentOf } from "../../ui/time.ts";
import { useSession } from "../use-store.ts";

/** Seconds until deliveries are read again: first soon, since most are sent by then. */
const AGAIN = [3, 30] as const;
/** Targets that are named, at most; the others are counted. */
const NAMED = 3;

interface DeliveryLineProps {
  readonly id: string;
  readonly in_view?: boolean;
  /** A line for each target, none of them cut, and with the open pages. */
  readonly whole?: boolean;
  readonly className: string;
}

/**
 * Polls the deliveries while the question is in view. On a narrow screen the target names are cut, but never the
 * time at which the question was seen.
 */
export function DeliveryLine({ id, in_view = true, whole, className }: DeliveryLineProps) {
  const deliveries = useDeliveries(id, in_view);
  const parts = whole
    ? deliveries.flatMap((one) => describeDeliveries([one], now(), whole))
    : describeDeliveries(deliveries, now());
  if (parts.length === 0) return null;
  if (whole) {
    return (
      <div className={classes("said text-faint text-sm", className)}>
        {parts.map(({ targets, seen }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two targets may have the same name.
          <p key={at}>
            <span>{targets}</span>
            <span className="whitespace-nowrap">{seen}</span>
          </p>
        ))}
      </div>
    );
  }
  return (
    <p className={classes("flex whitespace-pre text-faint text-xs", className)}>
      {parts.map(({ targets, seen }, at) => (
        <Fragment key={targets}>
          <span className="min-w-0 truncate">{`${at > 0 ? " · " : ""}${targets}`}</span>
          {seen !== "" && <span className="shrink-0">{seen}</span>}
        </Fragment>
      ))}
    </p>
  );
}

function useDeliveries(id: string, in_view: boolean): readonly Delivery[] {
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
  return deliveries;
}

interface Part {
  /** Such as `Sent to iPhone`. */
  readonly targets: string;
  /** Such as `, seen 10:32`; empty if not known. */
  readonly seen: string;
}

/**
 * Deliveries in words; empty if there is nothing to say. The page itself is left out unless
 * `with_page`: the person is reading it.
 */
function describeDeliveries(
  deliveries: readonly Delivery[],
  at: number,
  with_page = false,
): Part[] {
  const others = deliveries.filter(({ target }) => with_page || target.type !== "page");
  const of = (...statuses: Delivery["status"][]) =>
    others.filter(({ status, shown_at, opened_at }) =>
      // A notification that was seen has arrived, whatever the service reported.
      statuses.includes(shown_at !== null || opened_at !== null ? "sent" : status),
    );
  const [sent, queued, failed] = [of("sent"), of("queued"), of("failed")];
  const parts: Part[] = [];
  if (sent.length > 0) {
    parts.push({ targets: `Sent to ${labelsOf(sent)}`, seen: seenOf(sent, at) });
  }
  if (queued.length > 0) parts.push({ targets: `Sending to ${labelsOf(queued)}`, seen: "" });
  if (failed.length > 0) parts.push({ targets: `Not delivered to ${labelsOf(failed)}`, seen: "" });
  return parts;
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
  const nameOf = ({ target: { type, label } }: Delivery) =>
    type === "page" ? "the page" : isolated(label);
  const labels = [...new Set(deliveries.map(nameOf))];
  const more = labels.length - NAMED;
  const named = more > 0 ? [...labels.slice(0, NAMED), `${more} more`] : labels;
  return list.format(named);
}
