/** Checks that need a credential: its owner, long waits, streams, channels. */

import { RelayError } from "../../client/error.ts";
import type { Io } from "../io.ts";
import type { Session } from "../session.ts";
import { check, type Finding, fail, ok, warn } from "./finding.ts";

/** Seconds that an ordinary request may take. */
const ANSWER_WITHIN = 20;
/** Seconds of the longest wait (§6). */
const WAIT = 50;
/** Seconds by which an answer may be late. */
const SLACK = 10;
/** Seconds without an event after which the server sends a comment (§7.1.2). */
const PING = 20;
/**
 * Seconds until a waiting tool reports progress, and seconds that it waits
 * (§12.4).
 */
const [PROGRESS, TOOL_WAIT] = [10, 20];
/** Seconds that the test of a channel takes at most (§19.2.5). */
const TEST_WITHIN = 20;

const BUFFERED = "Turn off buffering of responses in the proxy for /v1/events and /mcp";

const SEE_LOG = "Look at the log of the server";

export type Owner = "agent" | "account";

/**
 * Finds out whether the credential is an agent's or an account's; null if the server does not take
 * it.
 */
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
      return ok(`of the agent ${agents.find(({ self }) => self)?.label}`);
    } catch (error) {
      if (!(error instanceof RelayError) || error.code !== "forbidden") throw error;
      await client.accounts.get({ signal });
      owner = "account";
      return ok("of an account");
    }
  });
  return [finding, owner];
}

/** Waits as long as a request may, as an agent does for an answer. */
export const checkWait = (io: Io, { client }: Session): Promise<Finding> => {
  const advice = `Set the read time-out of the proxy to more than ${WAIT + SLACK} s`;
  return check(io, "long wait", WAIT + SLACK, advice, async (signal) => {
    const begun = io.timers.elapsed();
    try {
      const { items } = await client.inbox.read({ wait: WAIT, peek: true, limit: 1 }, { signal });
      if (items.length > 0) return ok("answered at once, as the inbox has unread items");
      return ok(`held for ${WAIT} s`);
    } catch (error) {
      const after = Math.round(io.timers.elapsed() - begun);
      const why = error instanceof Error ? error.message : String(error);
      return fail(`ended after ${after} s of ${WAIT}: ${why}`, advice);
    }
  });
};

/** Characters of a line that are kept until its end arrives. */
const MOST_OF_LINE = 1024 * 1024;

/** Yields each line of a body once it is complete, then the rest, if any; a longer line comes in parts. */
async function* linesOf(response: Response): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
    if (rest.length < MOST_OF_LINE) continue;
    yield rest;
    rest = "";
  }
  if (rest) yield rest;
}

/**
 * Checks the event stream of an account: the first event comes at once, and a comment when nothing
 * happens.
 */
export async function* checkEvents(
  io: Io,
  { connection }: Session,
  quick: boolean,
): AsyncGenerator<Finding, void> {
  const left = new AbortController();
  let lines: AsyncGenerator<string, void> | undefined;
  try {
    const opened = await check(io, "stream", SLACK, BUFFERED, async () => {
      const response = await connection.fetch(connection.url("/v1/events"), {
        headers: { ...connection.headers, accept: "text/event-stream" },
        signal: left.signal,
      });
      if (!response.ok) return fail(`refused with ${response.status}`, SEE_LOG);
      lines = linesOf(response);
      return (await lines.next()).done ? fail("it ended", SEE_LOG) : ok("the first event came");
    });
    yield opened;
    if (quick || opened.status === "fail") return;
    yield await check(io, "ping", PING + SLACK, BUFFERED, async () => {
      for await (const line of lines!) {
        if (line.includes(": ping")) return ok("the stream stays open while nothing happens");
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
    const response = await connection.fetch(connection.url("/mcp"), {
      method: "POST",
      headers: {
        ...connection.headers,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      signal,
    });
    if (!response.ok) {
      const { detail } = (await response.json().catch(() => ({}))) as { detail?: unknown };
      const why = typeof detail === "string" ? `: ${detail}` : "";
      return fail(`refused with ${response.status}${why}`, advice);
    }
    for await (const line of linesOf(response)) {
      const after = io.timers.elapsed() - begun;
      const has_progress = line.includes("notifications/progress");
      const has_result = line.includes('"result"');
      if (has_progress && after < PROGRESS + SLACK) {
        return ok(`progress came after ${Math.round(after)} s`);
      }
      if (has_progress) return warn("progress and result came together", BUFFERED);
      if (has_result)
        return ok(quick ? "answered" : "answered at once, as the inbox has unread items");
    }
    return fail("ended without a result", advice);
  });
};

/** Sends a test to each channel of the account; an agent may not. */
export async function checkChannels(io: Io, { client }: Session, owner: Owner): Promise<Finding[]> {
  if (owner === "agent") {
    const text = "not tested, as an agent may not: use Send a test on the page, under Account";
    return [{ hop: "channels", ms: null, ...ok(text) }];
  }
  let ids: readonly (readonly [string, string])[] = [];
  const listed = await check(io, "channels", ANSWER_WITHIN, "Try again", async (signal) => {
    const { channels } = await client.channels.list({ signal });
    ids = channels.map(({ id, type, label }) => [id, `${type} ${label}`]);
    return ok(channels.length === 0 ? "there is none" : `${channels.length}`);
  });
  const tests = ids.map(([id, name]) =>
    check(io, "channel", TEST_WITHIN, "Look at the channel on the page", async (signal) => {
      const { status, reason } = await client.channels.test(id, { signal });
      const text = `${name}: ${status}${reason === null ? "" : `, ${reason}`}`;
      return status === "failed"
        ? fail(text, "Check the channel on the page, under Account")
        : ok(text);
    }),
  );
  return [listed, ...(await Promise.all(tests))];
}
