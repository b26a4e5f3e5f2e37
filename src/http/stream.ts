/** `GET /v1/events`: the account's changes as server-sent events (§7). */

import type { Auth, Usage } from "../auth/authenticate.ts";
import type { Cancel, Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import type { Feed } from "../events/feed.ts";
import { LIMITS } from "../limits.ts";
import type { Caller } from "../model/caller.ts";
import { isStreamed, type StoredEvent, type StreamData, type StreamEvent } from "../model/event.ts";
import { failWrongKind } from "../rpc/execute.ts";
import type { RequestScope } from "./request-scope.ts";
import { STREAM_HEADERS } from "./respond.ts";

/** Records the open streams of all processes. */
interface OpenPages {
  /** A stream of the account opened. */
  opened(account_id: string): void;
  closed(account_id: string): void;
  /** A new question was written to a stream. */
  wrote(question_id: string): void;
}

interface StreamOptions {
  readonly auth: Auth;
  readonly feed: Feed;
  readonly pages: OpenPages;
  readonly clock: Clock;
  /** Records that a sign-in is in use, at most once a minute (§2.9.2). */
  readonly recordUse: (request: Request, usage: Usage) => void;
}

const encoder = new TextEncoder();
const PING = encoder.encode(": ping\n\n");

export function createStreams({ auth, feed, pages, clock, recordUse }: StreamOptions) {
  /** The functions that end the open streams, by account. */
  const open = new Map<string, Set<() => void>>();
  /** The frame of the last event, whose bytes all streams of an account share. */
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
  ): (() => void) => {
    const { account_id } = caller;
    /** When something was last sent, and when use was last recorded, by {@link Clock.elapsed}. */
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
      streams?.delete(end);
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

    /** Soon drops the connection of a reader that is too slow, with whatever is unsent. */
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
      // Events that a newer version added are not for clients of this one.
      if (name === "approval.decided" || !isStreamed(name)) return;
      // Events between processes do not go to clients; a new event does not compile here until it is handled.
      name satisfies StreamEvent["name"];
      send(frameOf(event));
      if (name === "question.created" && !ended) pages.wrote(event.subject);
      if (event.name === "account.deleted") end();
    });
    const unlose = feed.onLost(end);
    const streams = open.get(account_id) ?? new Set();
    open.set(account_id, streams.add(end));
    pages.opened(account_id);
    if (streams.size > LIMITS.streams) streams.values().next().value!();
    signal.addEventListener("abort", end);

    const data: StreamData["ready"] = { account_id };
    send(frame("ready", JSON.stringify(data)));
    armPing(LIMITS.ping_after);
    // The listener above never fires for an abort that came first.
    if (signal.aborted) end();
    return end;
  };

  return {
    /** Opens a stream. `hurry` makes the server drop the connection soon, even if its reader reads nothing. */
    async open(scope: RequestScope, hurry: () => void): Promise<Response> {
      const { request } = scope;
      const { caller, usage } = (await scope.credential.authenticate()) ?? fail("unauthorized");
      scope.charges.charge();
      const headers = { ...STREAM_HEADERS, ...scope.charges.quota()?.headers };
      if (caller.kind !== "account") failWrongKind(caller, "account");
      if (request.method === "HEAD") return new Response(null, { headers });
      let unsure = false;
      const cancel = feed.onAccount(caller.account_id, ({ name }) => {
        unsure ||= name === "account.deleted" || name === "token.replaced";
      });
      // Events committed before `ready` are not sent after it. A stream does not start with a credential whose
      // end was delivered between its check and here.
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

      let end: (() => void) | undefined;
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            end = start(caller, controller, request.signal, noteUse, hurry);
          },
          cancel: () => end?.(),
        },
        { highWaterMark: LIMITS.stream_queue_bytes, size: (chunk) => chunk?.byteLength ?? 0 },
      );
      return new Response(body, { headers });
    },

    /** Accounts that have streams open now. */
    accounts: (): number => open.size,

    /** Streams open now. */
    count: (): number => [...open.values()].reduce((sum, streams) => sum + streams.size, 0),

    /** Ends every stream, and refuses later ones. */
    close(): void {
      closed = true;
      for (const streams of [...open.values()]) for (const end of [...streams]) end();
    },
  };
}

function frame(name: StreamEvent["name"] | StoredEvent["name"], data: string): Uint8Array {
  return encoder.encode(`event: ${name}\ndata: ${data}\n\n`);
}
