/** Reads replies from ntfy servers: one subscription for up to 50 topics of a server and token (§19.8.4). */

import { REPLY_LIMITS } from "../../notification-limits.ts";
import { OutboundError } from "../../outbound/guard.ts";
import { HOLD_MOST, retryAfter } from "../core/requests.ts";
import {
  type ReplyChannel,
  type ReplyConnection,
  type ReplyConnectionEnd,
  type ReplySource,
  replyKey,
} from "../replies/source.ts";
import { headersOf } from "./client.ts";
import { parse } from "./payload.ts";

/** `idle`: ntfy sends a line every 45 s. */
const BOUNDS = {
  line: REPLY_LIMITS.line_bytes,
  burst: REPLY_LIMITS.burst_bytes,
  per_second: REPLY_LIMITS.bytes_per_second,
  idle: 180,
} as const;
/** Seconds by which a subscription goes back, since topics do not share an order. */
const OVERLAP = 60;
/** Seconds after the start of a subscription in which older replies arrive. */
const REPLAY = 5;
/** Ids of messages that are remembered, to handle each once. */
const REMEMBERED = 1_000;

/** Back-off after a fault, a refusal and a flood, in seconds. */
const FAULT = { least: 1, most: 300 };
const REFUSAL = { least: 60, most: 300 };

export const replies: ReplySource = {
  most: REPLY_LIMITS.topics,
  keyOf(address) {
    const { server, token, replies } = parse(address);
    return replies === undefined ? null : replyKey("ntfy", server, token);
  },
  open,
};

/** What ntfy says in a line: https://docs.ntfy.sh/subscribe/api/#json-message-format */
interface Line {
  readonly id?: unknown;
  readonly time?: unknown;
  readonly event?: unknown;
  readonly topic?: unknown;
  readonly message?: unknown;
}

async function open(connection: ReplyConnection): Promise<ReplyConnectionEnd> {
  const { key, clock, outbound, signal, from } = connection;
  const channels = [...connection.channels()];
  const [first] = channels;
  if (!first) return { reason: "ok", ...FAULT, shows: false };
  const { server, token } = parse(first.address);
  const by_topic = new Map(channels.map((one) => [parse(one.address).replies ?? "", one]));
  const since = from === null ? "all" : sinceOf(from, clock.wall());
  const url = `${server}/${[...by_topic.keys()].join(",")}/json?since=${since}`;
  try {
    const { status, headers, lines } = await outbound.lines({
      ...{ url, signal, bounds: BOUNDS },
      owner: ownerOf(channels, key),
      headers: headersOf({ token }),
    });
    if (status !== 200) {
      return refusalOf(status, retryAfter(headers["retry-after"], clock.wall()), channels.length);
    }
    const spoke = await read(lines, by_topic, connection);
    return { reason: spoke ? "failed" : "unexpected_answer", ...FAULT, shows: false };
  } catch (error) {
    const reason = error instanceof OutboundError ? error.fault : "failed";
    const is_final = reason === "invalid_url" || reason === "forbidden_address";
    // Somebody floods one of the topics: the others get on without it.
    const splits = reason === "answer_too_large" && channels.length > 1;
    const flooded = reason === "answer_too_large" && !splits;
    // It goes on from now, or the server would repeat the flood for as long as it keeps messages.
    if (flooded && !signal.aborted) await connection.handle(null, clock.wall() + 1 + OVERLAP);
    const waits = is_final || flooded;
    return { reason, ...(waits ? REFUSAL : FAULT), shows: is_final, splits };
  }
}

/** Goes back from the last line. Its time can be wrong: from one in the future on, replies would be left out. */
const sinceOf = (from: number, now: number): number =>
  Math.max(0, Math.floor(Math.min(from, now)) - OVERLAP);

/** Whose share of look-ups is used: of no account if several listen, since each would then depend on what one does. */
const ownerOf = (channels: readonly ReplyChannel[], key: string): string => {
  const accounts = new Set(channels.map(({ account_id }) => account_id));
  return accounts.size === 1 ? channels[0]!.account_id : key;
};

function refusalOf(status: number, retry_after: number | null, topics: number): ReplyConnectionEnd {
  const reason = `status_${status}`;
  if (status === 429) {
    const least = Math.min(Math.max(retry_after ?? 0, REFUSAL.least), HOLD_MOST);
    return { reason, least, most: Math.max(least, REFUSAL.most), shows: false };
  }
  if (status < 400 || status >= 500) return { reason, ...FAULT, shows: false };
  // 401 refuses the token, and so every topic; anything else may be about one of them.
  const splits = status !== 401 && topics > 1;
  return { reason, ...(splits ? FAULT : REFUSAL), shows: !splits, splits };
}

/** Hands over the replies in `lines`, each once. False if something other than an ntfy server wrote them. */
async function read(
  lines: AsyncIterable<string>,
  by_topic: ReadonlyMap<string, ReplyChannel>,
  { clock, handle, works }: ReplyConnection,
): Promise<boolean> {
  const began = clock.elapsed();
  const seen = new Set<string>();
  let spoke = false;
  for await (const text of lines) {
    const line = lineOf(text);
    // The first line says that the subscription is open; a web page, such as a login, begins with another.
    if (!line && !spoke) return false;
    if (!line) continue;
    spoke = true;
    works();
    // Older replies follow the first line, whose time is now, in an order that depends on the server.
    const replayed = clock.elapsed() - began >= REPLAY;
    const position = replayed ? timeOf(line) : null;
    const { id, topic, message } = line;
    const channel = typeof topic === "string" ? by_topic.get(topic) : undefined;
    if (
      line.event !== "message" ||
      !channel ||
      typeof id !== "string" ||
      typeof message !== "string" ||
      seen.has(id)
    ) {
      await handle(null, position);
      continue;
    }
    seen.add(id);
    if (seen.size > REMEMBERED) seen.delete(seen.values().next().value!);
    const { channel_id } = channel;
    await handle({ kind: "code", channel_id, code: message.trim() }, position);
  }
  return spoke;
}

function lineOf(text: string): Line | null {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? (line as Line) : null;
  } catch {
    return null;
  }
}

/** The server's time in the line, in epoch seconds; null if it is none. */
function timeOf({ time }: Line): number | null {
  return typeof time === "number" && Number.isSafeInteger(time) && time > 0 ? time : null;
}
