/**
 * Says when a channel, or the webhook of an agent, last sent something, and what it failed to send.
 */

import type { Channel } from "../../../state/api.ts";
import { Ago } from "../../../ui/ago.tsx";
import { faultText } from "./channel-words.ts";

interface SentLinesProps {
  readonly of: Pick<Channel, "state" | "last_sent_at" | "last_error" | "missed">;
  /** Name of one message, such as `event`. */
  readonly noun: string;
}

export function SentLines({
  of: { state, last_sent_at, last_error, missed },
  noun,
}: SentLinesProps) {
  const failed = last_error && (state !== "ok" || last_error.at > (last_sent_at ?? 0));
  return (
    <>
      <p>
        {last_sent_at === null ? "Nothing sent yet" : "Last sent "}
        {last_sent_at !== null && <Ago at={last_sent_at} />}
      </p>
      {failed && (
        <p className={state === "ok" ? "text-warn" : "text-danger"}>
          {`${state === "ok" ? "Retrying" : "Not sent"}: ${faultText(last_error.code)}, `}
          <Ago at={last_error.at} />
        </p>
      )}
      {missed > 0 && (
        <p className="text-danger">
          {missed === 1
            ? `1 ${noun} was never delivered`
            : `${missed.toLocaleString("en")} ${noun}s were never delivered`}
        </p>
      )}
    </>
  );
}
