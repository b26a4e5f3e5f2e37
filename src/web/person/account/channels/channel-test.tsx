/** A test notification: its outcome, and the time of each step. */

import { CircleCheck, CircleX } from "lucide-react";
import { useEffect, useState } from "react";
import { now } from "../../../clock.ts";
import { onWorkerMessage } from "../../../messages.ts";
import type { Delivery, Fault } from "../../../state/api.ts";
import { duration, timeWithSeconds } from "../../../ui/time.ts";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { useSession } from "../../use-store.ts";
import { faultText } from "./channel-words.ts";

interface TestProps {
  readonly id: string;
  /**
   * True: it is this browser's own channel, whose service worker reports when it has shown the
   * test.
   */
  readonly is_here: boolean;
  readonly onDone: () => void;
}

/** Sends a test when it is mounted, and shows the outcome. */
export function ChannelTest({ id, is_here, onDone }: TestProps) {
  const { api } = useSession();
  const [shown_at, setShown] = useState<number | null>(null);
  useEffect(
    () =>
      onWorkerMessage((message) => {
        if (is_here && message.type === "tested" && message.tag === id) setShown(now());
      }),
    [id, is_here],
  );
  const { value: delivery, fault } = useLoaded(id, () =>
    api.channels.test.mutate({ channel_id: id }).finally(onDone),
  );
  return (
    <div role="status" className="text-sm">
      {delivery ? (
        <Outcome delivery={delivery} shown_at={shown_at} />
      ) : fault ? (
        <p className="text-danger">{faultMessage(fault)}</p>
      ) : (
        <p className="text-faint">Sending a test…</p>
      )}
    </div>
  );
}

function faultMessage({ code, message }: Fault): string {
  if (code === "unanswered") return "Couldn't reach the server. The test may have been sent.";
  return message;
}

interface OutcomeProps {
  readonly delivery: Delivery;
  /** When this browser showed it, epoch seconds; null if it did not. */
  readonly shown_at: number | null;
}

function Outcome({ delivery, shown_at }: OutcomeProps) {
  const { status, reason, queued_at, sent_at } = delivery;
  const sent = status === "sent";
  const Icon = sent ? CircleCheck : CircleX;
  const steps: readonly (readonly [string, number, number | null])[] = [
    ["Queued", queued_at, null],
    ...(sent_at === null ? [] : [["Accepted", sent_at, sent_at - queued_at] as const]),
    ...(shown_at === null ? [] : [["Shown here", shown_at, shown_at - queued_at] as const]),
  ];
  return (
    <div className="flex gap-2">
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${sent ? "text-ok" : "text-danger"}`} />
      <div>
        <p className={sent ? "font-medium text-ok" : "font-medium text-danger"}>
          {sent ? "Test sent" : `Test not sent${reason === null ? "" : `: ${faultText(reason)}`}`}
        </p>
        <ol className="text-faint">
          {steps.map(([name, at, after]) => (
            <li key={name}>
              {`${name} at ${timeWithSeconds(at)}`}
              {after !== null && ` (${duration(Math.max(0, Math.round(after * 1000)))} later)`}
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}
