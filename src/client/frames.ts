/** Reads a stream of server-sent events to its end, or until the connection is lost. */

import { errorOf, noResponse, RelayError } from "./error.ts";
import type { CallOptions, Connection } from "./send.ts";
import { abortWith } from "./signals.ts";

/** Seconds that the server has to open the stream. */
const OPEN_WITHIN = 10;
/** Seconds without a byte after which the connection counts as lost: two pings were missed (§7.1.2). */
const SILENCE = 45;
/** Characters of one frame, at most; the server's largest is a task of some 100,000. */
const FRAME = 1_000_000;

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") === true;

interface FrameOptions extends CallOptions {
  readonly init?: Pick<RequestInit, "method" | "body" | "headers">;
  /** Seconds that the server has to open the stream; 10 when absent. */
  readonly open_within?: number;
  /** Called with the response, before its status is checked. */
  readonly onResponse?: (response: Response) => void;
}

/**
 * Yields the frames of one response, comments included, without the blank lines between them. A response that is not
 * a stream is one frame. Throws {@link RelayError} if the request is refused or the connection is lost
 * (`no_response`), or the reason of an aborted signal. Leaving the loop closes the connection.
 */
export async function* readFrames(
  { url, headers, fetch, timers }: Connection,
  path: string,
  { init = {}, open_within = OPEN_WITHIN, signal, onResponse }: FrameOptions = {},
): AsyncGenerator<string, void> {
  signal?.throwIfAborted();
  const ended = new AbortController();
  const detach = abortWith(ended, signal);
  const lose = () => ended.abort();
  let cancel = timers.after(open_within, lose);
  try {
    const response = await fetch(url(path), {
      ...init,
      headers: { ...headers, accept: "text/event-stream", ...(init.headers as object) },
      signal: ended.signal,
      cache: "no-store",
    });
    onResponse?.(response);
    if (!response.ok || !response.body) throw await errorOf(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      cancel();
      cancel = timers.after(SILENCE, lose);
      const { done, value } = await reader.read();
      cancel();
      if (done) {
        // An incomplete frame is dropped.
        if (rest !== "" && !isStream(response)) yield rest;
        return;
      }
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      if (rest.length > FRAME) throw new RelayError("unexpected_response", "The event is too long");
      yield* frames;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof RelayError ? error : noResponse(error);
  } finally {
    cancel();
    detach();
    ended.abort();
  }
}
