/** `GET /v1/events`: the account's changes as server-sent events (docs/interface.md 7). */

import type { Auth, Usage } from "../auth/authenticate.ts";
import type { Cancel, Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import type { Feed } from "../events/feed.ts";
import { LIMITS } from "../limits.ts";
import type { Caller } from "../model/caller.ts";
import { isStreamed, type StoredEvent, type StreamData, type StreamEvent } from "../model/event.ts";
import { failWrongKind } from "../rpc/execute.ts";
import type { RequestScope } from "./request-scope.ts";
import { API_SECURITY } from "./security.ts";

/** The record of open streams, in all processes together. */
interface OpenPages {
  /** A stream of the account opened. */
  opened(account_id: string): void;
  closed(account_id: string): void;
  /** A new question was written to one. */
  wrote(question_id: string): void;
}

interface StreamOptions {
  readonly auth: Auth;
  readonly feed: Feed;
  readonly pages: OpenPages;
  readonly clock: Clock;
  /** Records that a sign-in is in use, at most once a minute (docs/interface.md 2.9.2). */
  readonly recordUse: (request: Request, usage: Usage) => void;
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Without it, a buffering proxy holds events back.
  "x-accel-buffering": "no",
  ...API_SECURITY,
};

const encoder = new TextEncoder();
const PING = encoder.encode(": ping\n\n");

interface Stream {
  end(): void;
}

export function createStreams({ auth, feed, pages, clock, recordUse }: StreamOptions) {
  const open = new Map<string, Set<Stream>>();
  /** The last event's frame: streams of one account share its bytes. */
  let encoded: { seq: number; bytes: Uint8Array } | undefined;
  let closed = false;

  const frameOf = (event: StoredEvent): Uint8Array => {
    if (encoded?.seq !== event.seq) {
      encoded = { seq: event.seq, bytes: frame(event.name, event.data) };
    }
    return encoded.bytes;
  };

  const start = (
    caller: Caller,
    controller: ReadableStreamDefaultController<Uint8Array>,
    signal: AbortSignal,
    noteUse: () => void,
    hurry: () => void,
  ): Stream => {
    const { account_id } = caller;
    /** When something was sent last, and the use was noted last, by the monotonic clock. */
    let last_at = clock.elapsed();
    let noted_at = last_at;
    let ended = false;
    let cancel_ping: Cancel = () => {};
    let cancel_check: Cancel | undefined;

    const end = () => {
      if (ended) return;
      ended = true;
      for (const cancel of [unsubscribe, unlose, cancel_ping, cancel_check]) cancel?.();
      const streams = open.get(account_id);
      streams?.delete(stream);
      pages.closed(account_id);
      if (streams?.size === 0) open.delete(account_id);
      signal.removeEventListener("abort", end);
      try {
        controller.close();
      } catch {
        // The client has closed it already.
      }
    };

    const send = (bytes: Uint8Array) => {
      if (ended) return;
      try {
        controller.enqueue(bytes);
      } catch {
        end();
        return;
      }
      last_at = clock.elapsed();
      const free = controller.desiredSize ?? 0;
      if (free <= LIMITS.stream_queue_bytes - LIMITS.stream_queue_max) cut();
      else if (free <= 0) cancel_check ??= clock.after(LIMITS.stream_catch_up, check);
    };

    /** For a reader that is too slow: drops the connection soon, with whatever is unsent. */
    const cut = () => {
      hurry();
      end();
    };

    const check = () => {
      cancel_check = undefined;
      if (!ended && (controller.desiredSize ?? 0) <= 0) cut();
    };

    const armPing = (seconds: number) => {
      cancel_ping = clock.after(seconds, () => {
        const due_in = last_at + LIMITS.ping_after - clock.elapsed();
        if (due_in <= 0) send(PING);
        if (clock.elapsed() - noted_at >= LIMITS.stream_used_every) {
          noted_at = clock.elapsed();
          noteUse();
        }
        if (!ended) armPing(due_in <= 0 ? LIMITS.ping_after : due_in);
      });
    };

    const unsubscribe = feed.onAccount(account_id, (event) => {
      const { name } = event;
      if (name === "token.replaced") {
        void auth.assertLive(caller).catch(end);
        return;
      }
      // What a newer version added is not for clients of this one.
      if (name === "approval.decided" || !isStreamed(name)) return;
      // Events between processes do not go to clients; a new event does not compile here until it is handled.
      name satisfies StreamEvent["name"];
      send(frameOf(event));
      if (name === "question.created" && !ended) pages.wrote(event.subject);
      if (event.name === "account.deleted") end();
    });
    const unlose = feed.onLost(end);
    const stream: Stream = { end };
    const streams = open.get(account_id) ?? new Set();
    open.set(account_id, streams.add(stream));
    pages.opened(account_id);
    if (streams.size > LIMITS.streams) streams.values().next().value!.end();
    signal.addEventListener("abort", end);

    const data: StreamData["ready"] = { account_id };
    send(frame("ready", JSON.stringify(data)));
    armPing(LIMITS.ping_after);
    // The listener above never fires for an abort that came first.
    if (signal.aborted) end();
    return stream;
  };

  return {
    /** `hurry` makes the server drop the connection shortly, even if its reader takes nothing. */
    async open(scope: RequestScope, hurry: () => void): Promise<Response> {
      const { request } = scope;
      const { caller, usage } = (await scope.credential.authenticate()) ?? fail("unauthorized");
      scope.charges.charge();
      const headers = { ...HEADERS, ...scope.charges.quota()?.headers };
      if (caller.kind !== "account") failWrongKind(caller, "account");
      if (request.method === "HEAD") return new Response(null, { headers });
      let unsure = false;
      const cancel = feed.onAccount(caller.account_id, ({ name }) => {
        unsure ||= name === "account.deleted" || name === "token.replaced";
      });
      // What was committed before `ready` is not sent after it; nor does a stream start with a
      // credential whose end was delivered between its check and here.
      const catchUp = async () => {
        await feed.caughtUp();
        do {
          unsure = false;
          await auth.assertLive(caller);
        } while (unsure);
      };
      await scope.turns.within(catchUp()).finally(cancel);
      if (closed) fail("store_unavailable");
      const noteUse = () => {
        if (usage) recordUse(request, usage);
      };
      noteUse();

      let stream: Stream | undefined;
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            stream = start(caller, controller, request.signal, noteUse, hurry);
          },
          cancel: () => stream?.end(),
        },
        { highWaterMark: LIMITS.stream_queue_bytes, size: (chunk) => chunk?.byteLength ?? 0 },
      );
      return new Response(body, { headers });
    },

    /** Accounts that have streams open now. */
    accounts: (): number => open.size,

    /** Streams open now, over all accounts. */
    count: (): number => [...open.values()].reduce((sum, streams) => sum + streams.size, 0),

    /** Ends every stream; later ones are refused. */
    close(): void {
      closed = true;
      for (const streams of [...open.values()]) for (const stream of [...streams]) stream.end();
    },
  };
}

function frame(name: StreamEvent["name"] | StoredEvent["name"], data: string): Uint8Array {
  return encoder.encode(`event: ${name}\ndata: ${data}\n\n`);
}
