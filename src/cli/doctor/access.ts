/** Checks that need a credential: its owner, long waits, streams, channels. */

import { RelayError } from "../../client/error.ts";
import { readFrames } from "../../client/frames.ts";
import type { Io } from "../io.ts";
import type { Session } from "../session.ts";
import { check, type Finding, fail, ok, type Result, warn } from "./finding.ts";

/** Seconds that an ordinary request may take. */
const ANSWER_WITHIN = 20;
/** Seconds of the longest wait (§6). */
const WAIT = 50;
/** Seconds that a response may be late. */
const SLACK = 10;
/** Seconds without an event after which the server sends a comment (§7.1.2). */
const PING = 20;
/** Seconds until a waiting tool reports progress, and seconds that it waits (§12.4). */
const [PROGRESS, TOOL_WAIT] = [10, 20];
/** Seconds that a channel's test may take (§19.2.5). */
const TEST_WITHIN = 20;

const BUFFERED = "Turn off buffering of responses in the proxy for /v1/events and /mcp";

const SEE_LOG = "Look at the log of the server";

type Owner = "agent" | "account";

/** Finds out whether the credential is an agent's or an account's; null if the server refuses it. */
export async function checkCredential(
  io: Io,
  { client }: Session,
): Promise<readonly [Finding, Owner | null]> {
  let owner: Owner | null = null;
  const advice = "Run relay login <url>, or check RELAY_KEY";
  const finding = await check(io, "credential", ANSWER_WITHIN, advice, async (signal) => {
    try {
      const { agents } = await client.agents.list({ signal });
      owner = "agent";
      return ok(`of agent ${agents.find(({ self }) => self)?.label}`);
    } catch (error) {
      if (!(error instanceof RelayError) || error.code !== "forbidden") throw error;
      await client.accounts.get({ signal });
      owner = "account";
      return ok("of an account");
    }
  });
  return [finding, owner];
}

/** Checks that a request may wait as long as an agent's does for an answer. */
export const checkWait = (io: Io, { client }: Session): Promise<Finding> => {
  const advice = `Set the read time-out of the proxy to more than ${WAIT + SLACK} s`;
  return check(io, "long wait", WAIT + SLACK, advice, async (signal) => {
    const begun = io.timers.elapsed();
    try {
      const { items } = await client.inbox.read({ wait: WAIT, peek: true, limit: 1 }, { signal });
      if (items.length > 0) return ok("answered at once: the inbox has unread items");
      return ok(`held for ${WAIT} s`);
    } catch (error) {
      const after = Math.round(io.timers.elapsed() - begun);
      const why = error instanceof Error ? error.message : String(error);
      return fail(`ended after ${after} s of ${WAIT}: ${why}`, advice);
    }
  });
};

/** The failure that a refused request means; rethrows any other error. */
function refusalOf(error: unknown, advice: string): Result {
  if (!(error instanceof RelayError) || error.status === null) throw error;
  return fail(`refused with ${error.status}: ${error.message}`, advice);
}

/**
 * Checks an account's event stream: the first event comes at once, and a comment comes while nothing
 * happens.
 */
export async function* checkEvents(
  io: Io,
  { connection }: Session,
  quick: boolean,
): AsyncGenerator<Finding, void> {
  const left = new AbortController();
  const frames = readFrames(connection, "/v1/events", { signal: left.signal });
  try {
    const opened = await check(io, "stream", SLACK, BUFFERED, async () => {
      try {
        return (await frames.next()).done ? fail("it ended", SEE_LOG) : ok("the first event came");
      } catch (error) {
        return refusalOf(error, SEE_LOG);
      }
    });
    yield opened;
    if (quick || opened.status === "fail") return;
    yield await check(io, "ping", PING + SLACK, BUFFERED, async () => {
      for await (const frame of frames) {
        if (frame.startsWith(": ping")) return ok("the stream stays open while nothing happens");
      }
      return fail("the stream ended", `Set the read time-out of the proxy to more than ${WAIT} s`);
    });
  } finally {
    left.abort();
  }
}

/** Checks the MCP endpoint as agents use it: a waiting tool reports progress before its result. */
export const checkTools = (io: Io, { connection }: Session, quick: boolean): Promise<Finding> => {
  const advice = "Check that the proxy forwards /mcp";
  return check(io, "mcp", TOOL_WAIT + 2 * SLACK, advice, async (signal) => {
    const begun = io.timers.elapsed();
    const params = {
      name: "read_inbox",
      arguments: { peek: true, limit: 1, ...(!quick && { wait_seconds: TOOL_WAIT }) },
      _meta: { progressToken: 1 },
    };
    const init = {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    };
    // The response begins with the first progress, or with the result.
    const options = { init, signal, open_within: TOOL_WAIT + SLACK };
    try {
      for await (const frame of readFrames(connection, "/mcp", options)) {
        const after = io.timers.elapsed() - begun;
        const has_progress = frame.includes("notifications/progress");
        if (has_progress && after < PROGRESS + SLACK) {
          return ok(`progress came after ${Math.round(after)} s`);
        }
        if (has_progress) return warn("progress and result came together", BUFFERED);
        if (frame.includes('"result"'))
          return ok(quick ? "answered" : "answered at once: the inbox has unread items");
      }
    } catch (error) {
      return refusalOf(error, advice);
    }
    return fail("ended without a result", advice);
  });
};

const ON_PAGE = "Check the channel on the page, under Account";
/** What to do about a test that failed, by its reason. */
const REMEDIES: Readonly<Record<string, string>> = {
  bad_token:
    "Add the channel again with a working bot token, or replace the token of the server's bot",
  blocked: "Unblock the bot in its app, then test the channel",
  conflict: "Stop the other program that uses the bot, or remove its webhook",
  status_403: "Check the channel's token; for a browser, set VAPID_SUBJECT on the server",
  replies_not_writable: "Let everyone write to relay-reply-* on the channel's server",
  replies_not_readable: "Let the user of the channel's token read relay-reply-*",
};

/** Sends a test to each notification channel of the account; an agent may not. */
export async function checkChannels(io: Io, { client }: Session, owner: Owner): Promise<Finding[]> {
  if (owner === "agent") {
    const text = "not tested, since an agent may not: use Send a test on the page, under Account";
    return [{ hop: "channels", ms: null, ...ok(text) }];
  }
  let tested: readonly { id: string; name: string; replies: boolean; reached: boolean }[] = [];
  const listed = await check(io, "channels", ANSWER_WITHIN, "Try again", async (signal) => {
    const { channels } = await client.channels.list({ signal });
    tested = channels.map(({ id, type, label, replies, reached_at }) => ({
      ...{ id, name: `${type} ${label}`, replies, reached: reached_at !== null },
    }));
    return ok(channels.length === 0 ? "none" : `${channels.length}`);
  });
  const tests = tested.map(({ id, name, replies, reached }) =>
    check(io, "channel", TEST_WITHIN, "Look at the channel on the page", async (signal) => {
      const { status, reason, answer_by } = await client.channels.test(id, { signal });
      const text = `${name}: ${status}${reason === null ? "" : `, ${reason}`}`;
      if (status === "failed") return fail(text, REMEDIES[reason ?? ""] ?? ON_PAGE);
      const says = [
        ...(replies ? ["answers can come back"] : []),
        // Only a press shows that somebody reads it.
        ...(answer_by !== null && !reached ? ["nobody has pressed It works in a test yet"] : []),
      ];
      return ok([text, ...says].join("; "));
    }),
  );
  return [listed, ...(await Promise.all(tests))];
}
