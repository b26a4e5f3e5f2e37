/** A reader for the event stream on a real socket. */

import { until } from "./until.ts";

export interface StreamEvent {
  readonly event: string;
  readonly data: any;
}

export interface EventStream {
  readonly response: Response;
  /** Every event so far, `ready` included. */
  readonly events: StreamEvent[];
  /** Comment lines so far. */
  readonly comments: string[];
  /** Resolves when the server ends the stream. */
  readonly ended: Promise<void>;
  /** The names of the events after `ready`, once there are `count` of them. */
  names(count: number): Promise<string[]>;
  /** The first event after `ready` that matches. */
  next(matches: (event: StreamEvent) => boolean): Promise<StreamEvent>;
  close(): void;
}

/** Opens a stream and, if it is granted, waits for `ready`. */
export async function openStream(url: string, token: string): Promise<EventStream> {
  const controller = new AbortController();
  const response = await fetch(`${url}/v1/events`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    signal: controller.signal,
  });
  const events: StreamEvent[] = [];
  const comments: string[] = [];
  const read = async () => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of response.body!) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = frames.pop()!;
      for (const frame of frames) {
        if (frame.startsWith(":")) comments.push(frame);
        else events.push(parse(frame));
      }
    }
  };
  const ended = response.ok ? read().catch(() => {}) : Promise.resolve();
  if (response.ok) await until(() => events.length > 0);
  return {
    response,
    events,
    comments,
    ended,
    async names(count) {
      await until(() => events.length > count);
      return events.slice(1).map(({ event }) => event);
    },
    next: (matches) => until(() => events.slice(1).find(matches)),
    close: () => controller.abort(),
  };
}

/** A frame is exactly an event line and a data line. */
function parse(frame: string): StreamEvent {
  const match = /^event: ([a-z.]+)\ndata: (.*)$/.exec(frame);
  if (!match) throw new Error("not a frame of the interface");
  return { event: match[1]!, data: JSON.parse(match[2]!) };
}
