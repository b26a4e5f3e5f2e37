/** Reads an account's event stream, with reconnection (§7). */

import type { StreamEvent } from "../model/event.ts";
import { noResponse, RelayError } from "./error.ts";
import { readFrames } from "./frames.ts";
import type { CallOptions, Connection } from "./send.ts";
import { backoff, pause } from "./timers.ts";

/** The events that this client knows. Events of a newer server are ignored (§17.2). */
const NAMES: Readonly<Record<StreamEvent["name"], true>> = {
  ready: true,
  "task.created": true,
  "task.updated": true,
  "task.deleted": true,
  "key.created": true,
  "key.updated": true,
  "key.deleted": true,
  "grants.updated": true,
  "question.created": true,
  "question.updated": true,
  "inbox.updated": true,
  "session.created": true,
  "session.confirmed": true,
  "session.deleted": true,
  "account.deleted": true,
};

interface ReadOptions extends CallOptions {
  /** Called with the response, before its status is checked. */
  readonly onResponse?: (response: Response) => void;
}

/**
 * Yields the events of one connection, `ready` first, until the server ends it (§7.4.2). Throws {@link RelayError} if
 * the stream is refused (`unauthorized`, `forbidden`, `store_unavailable`, `rate_limited`), something else answers
 * (`unexpected_response`) or the connection is lost (`no_response`), or the reason of an aborted signal.
 */
export async function* readEvents(
  connection: Connection,
  options: ReadOptions = {},
): AsyncGenerator<StreamEvent, void> {
  const onResponse = (response: Response) => {
    options.onResponse?.(response);
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || !type.startsWith("text/html")) return;
    const { status } = response;
    throw new RelayError("unexpected_response", "The response is a page, not a stream", { status });
  };
  for await (const frame of readFrames(connection, "/v1/events", { ...options, onResponse })) {
    const event = eventOf(frame);
    if (event) yield event;
  }
}

/** Parses a frame; null for a comment, and for an event that this client does not know. */
function eventOf(frame: string): StreamEvent | null {
  const [, name = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
  if (!Object.hasOwn(NAMES, name)) return null;
  try {
    return { name, data: JSON.parse(data) } as StreamEvent;
  } catch (cause) {
    throw noResponse(cause);
  }
}

/**
 * Yields the events of an account for as long as it exists: connects again whenever the stream ends or is lost. `ready`
 * comes with every connection. After it, read the lists again, since the stream does not replay events (§7.4.1). Ends
 * after `account.deleted`. Throws {@link RelayError} if the credential is refused (`unauthorized`, `forbidden`), or the
 * reason of an aborted signal.
 */
export async function* followEvents(
  connection: Connection,
  { signal }: CallOptions = {},
): AsyncGenerator<StreamEvent, void> {
  const { timers } = connection;
  for (let failures = 0; ; failures++) {
    let seconds: number | null = null;
    try {
      for await (const event of readEvents(connection, { signal })) {
        if (event.name === "ready") failures = 0;
        yield event;
        if (event.name === "account.deleted") return;
      }
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      // A page in place of the stream, such as a network's sign-in page, is temporary.
      const is_page = error.code === "unexpected_response" && (error.status ?? 0) < 400;
      if (!error.is_transient && !is_page) throw error;
      seconds = error.retry_after;
    }
    await pause(timers, seconds ?? backoff(timers, failures), signal);
  }
}
