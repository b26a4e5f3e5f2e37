/** Decides what an answer of an ntfy server means (§19.5.4); pure. */

import type { OutboundFault } from "../../outbound/guard.ts";
import {
  type Attempt,
  busyHost,
  exponentialDelay,
  LOST_BACKOFF,
  type Verdict,
} from "../core/channel.ts";
import { HOLD_MOST } from "../core/requests.ts";

/** Seconds of the longest back-off after a failed attempt. */
const BACKOFF_MOST = 300;

export type NtfyAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** Seconds. */
      readonly retry_after: number | null;
      /** The kind of body: a message that was published, a web page such as a login, or something else. */
      readonly said: "published" | "web page" | "something else";
      /** True if it returned our sequence id, as servers that replace notifications do. */
      readonly replaces: boolean;
    }
  | { readonly kind: "lost"; readonly fault: OutboundFault }
  /** Not sent: all connections to the host are in use, or it has not answered lately. `wait`: seconds. */
  | { readonly kind: "busy"; readonly wait: number };

/** Faults that would happen again. */
export const FINAL: readonly OutboundFault[] = ["invalid_url", "forbidden_address"];
/** Faults after which it may have arrived. */
const UNCLEAR: readonly OutboundFault[] = ["timed_out", "failed", "answer_too_large"];

export function classify(answer: NtfyAnswer, { attempts }: Attempt): Verdict {
  if (answer.kind === "busy") return busyHost(answer.wait);
  const spread = exponentialDelay(LOST_BACKOFF, attempts, BACKOFF_MOST);
  const delay = { least: 0, spread };
  if (answer.kind === "lost") {
    const reason = answer.fault;
    if (FINAL.includes(reason)) return { do: "drop", reason, fault: false };
    return { do: "again", reason, delay, unclear: UNCLEAR.includes(reason) };
  }
  const { status, retry_after, said, replaces } = answer;
  if (status >= 200 && status < 300) {
    if (said === "published") return { do: "finish", reason: "ok", replaces };
    const reason = "unexpected_answer";
    // A page stands in front of the server for a while. Anything else, such as a server of another kind, may
    // have published the message, and would show it again with each attempt.
    return said === "web page"
      ? { do: "again", reason, delay, unclear: false }
      : { do: "drop", reason, fault: false };
  }
  const reason = `status_${status}`;
  const least = Math.min(retry_after ?? 0, HOLD_MOST);
  if (status === 429) return { do: "hold_target", reason, least };
  const held = { least, spread };
  if (status === 410) return { do: "forget_target", reason, since: null, delay: held };
  if (status >= 500) return { do: "again", reason, delay: held, unclear: false };
  return { do: "drop", reason, fault: false };
}
