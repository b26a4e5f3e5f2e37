/** Reads the event stream (docs/interface.md 7). `EventSource` cannot send the token in a header. */

import { after, noteServerTime } from "../clock.ts";
import { here } from "./api.ts";

/** The server refused the stream. */
export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    /** Seconds to wait before the next attempt; null when the server names none. */
    readonly retry_after: number | null,
  ) {
    super("the stream was refused");
  }
}

/** Seconds until the server has to answer. */
const PATIENCE = 10;
/** Seconds without a byte until the connection counts as lost: two pings that did not come. */
const SILENCE = 45;

/** Hands over each event until the stream ends; throws when it is refused, lost or aborted. */
export async function readEvents(
  token: string,
  signal: AbortSignal,
  take: (name: string, data: unknown) => void,
): Promise<void> {
  const silent = new AbortController();
  const lose = () => silent.abort(new Error("the stream is silent"));
  let cancel = after(PATIENCE, lose);
  try {
    const response = await fetch(here("v1/events"), {
      headers: { accept: "text/event-stream", authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, silent.signal]),
      cache: "no-store",
    });
    noteServerTime(response.headers.get("date"));
    if (!response.ok || !response.body) {
      const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
      throw new StreamRefused(response.status, Number.isNaN(seconds) ? null : seconds);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      cancel();
      cancel = after(SILENCE, lose);
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
        if (name !== undefined && data !== undefined) take(name, JSON.parse(data));
      }
    }
  } finally {
    cancel();
  }
}
