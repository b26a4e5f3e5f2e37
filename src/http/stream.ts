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
  /** Tells if a page of another origin sent a request, which is not recorded as use. */
  readonly isForeign: (request: Request) => boolean;
  /** Records that a sign-in is in use, at most once a minute (§2.9.2). */
  readonly recordUse: (usage: Usage) => void;
  /** Makes the server drop the connection of a request soon, even if its client reads nothing. */
  readonly hurry: (request: Request) => void;
}

const encoder = new TextEncoder();
const PING = encoder.encode(": ping\n\n");

/**
 * Counts the bytes that a stream has queued. The mark is 0, because Bun reserves as many bytes as it says for each
 * stream at once.
 */
const IN_BYTES: QueuingStrategy<Uint8Array> = {
  highWaterMark: 0,
  size: (chunk) => chunk?.byteLength ?? 0,
};

export function createStreams({
  auth,
  feed,
  pages,
  clock,
  isForeign,
  recordUse,
  hurry,
}: StreamOptions) {
  /** The open streams of each account, oldest first. */
  const open = new Map<string, AccountStreams>();
  /** The frame of the last event, whose bytes all streams of an account share. */
  let encoded: { seq: number; bytes: Uint8Array } | undefined;
  let closed = false;
  /** Streams that this process ended, by reason. */
  const ended = { limit: 0, slow: 0 };

  const frameOf = (event: StoredEvent): Uint8Array => {
    if (encoded?.seq !== event.seq) {
      encoded = { seq: event.seq, bytes: frame(event.name, event.data) };
    }
    return encoded.bytes;
  };

  const endAll = (): void => {
    for (const { streams } of [...open.values()]) for (const stream of [...streams]) stream.end();
  };

  /** One open stream, and the source of its body. Thousands stay open: it has fields instead of closures. */
  class Stream {
    readonly #request: Request;
    readonly #caller: Caller;
    /** The use to record while it is open; null if none is recorded. */
    readonly #usage: Usage | null;
    #controller!: ReadableStreamDefaultController<Uint8Array>;
    /** When something was last sent, and when use was last recorded, by {@link Clock.elapsed}. */
    #last_at = clock.elapsed();
    #noted_at = this.#last_at;
    #ended = false;
    #cancel_ping: Cancel | undefined;
    #cancel_check: Cancel | undefined;

    constructor(request: Request, caller: Caller, usage: Usage | null) {
      this.#request = request;
      this.#caller = caller;
      this.#usage = usage;
    }

    /** Called by the body as it is made. */
    start(controller: ReadableStreamDefaultController<Uint8Array>): void {
      this.#controller = controller;
      const { account_id } = this.#caller;
      const { streams } = enter(account_id, this);
      if (streams.size > LIMITS.streams) {
        ended.limit++;
        streams.values().next().value!.end();
      }
      const data: StreamData["ready"] = { account_id };
      this.#send(frame("ready", JSON.stringify(data)));
      this.#armPing(LIMITS.ping_after);
    }

    /** Called by the body once the client is gone, also if it left before the answer. */
    cancel(): void {
      this.end();
    }

    end(): void {
      if (this.#ended) return;
      this.#ended = true;
      this.#cancel_ping?.();
      this.#cancel_check?.();
      leave(this.#caller.account_id, this);
      try {
        this.#controller.close();
      } catch {
        // The client has closed it already.
      }
    }

    deliver(event: StoredEvent): void {
      if (this.#ended) return;
      const { name } = event;
      if (name === "token.replaced") {
        void auth.assertLive(this.#caller).catch(() => this.end());
        return;
      }
      // Events that a newer version added are not for clients of this one.
      if (name === "approval.decided" || !isStreamed(name)) return;
      // Events between processes do not go to clients; a new event does not compile here until it is handled.
      name satisfies StreamEvent["name"];
      this.#send(frameOf(event));
      if (name === "question.created" && !this.#ended) pages.wrote(event.subject);
      if (event.name === "account.deleted") this.end();
    }

    #send(bytes: Uint8Array): void {
      if (this.#ended) return;
      try {
        this.#controller.enqueue(bytes);
      } catch {
        this.end();
        return;
      }
      this.#last_at = clock.elapsed();
      const queued = this.#queued();
      if (queued >= LIMITS.stream_queue_max) this.#cut();
      else if (queued >= LIMITS.stream_queue_bytes) {
        this.#cancel_check ??= clock.after(LIMITS.stream_catch_up, () => this.#check());
      }
    }

    /** Bytes that the connection has not accepted. */
    #queued(): number {
      return -(this.#controller.desiredSize ?? 0);
    }

    /** Soon drops the connection of a reader that is too slow, with whatever is unsent. */
    #cut(): void {
      ended.slow++;
      hurry(this.#request);
      this.end();
    }

    #check(): void {
      this.#cancel_check = undefined;
      if (!this.#ended && this.#queued() >= LIMITS.stream_queue_bytes) this.#cut();
    }

    #armPing(seconds: number): void {
      this.#cancel_ping = clock.after(seconds, () => this.#ping());
    }

    #ping(): void {
      const due_in = this.#last_at + LIMITS.ping_after - clock.elapsed();
      if (due_in <= 0) this.#send(PING);
      if (this.#usage && clock.elapsed() - this.#noted_at >= LIMITS.stream_used_every) {
        this.#noted_at = clock.elapsed();
        recordUse(this.#usage);
      }
      if (!this.#ended) this.#armPing(due_in <= 0 ? LIMITS.ping_after : due_in);
    }
  }

  /** The open streams of one account, which share a listener. */
  interface AccountStreams {
    readonly streams: Set<Stream>;
    readonly unsubscribe: Cancel;
  }

  const enter = (account_id: string, stream: Stream): AccountStreams => {
    let own = open.get(account_id);
    if (!own) {
      const streams = new Set<Stream>();
      const unsubscribe = feed.onAccount(account_id, (event) => {
        for (const one of [...streams]) one.deliver(event);
      });
      own = { streams, unsubscribe };
      open.set(account_id, own);
    }
    own.streams.add(stream);
    pages.opened(account_id);
    return own;
  };

  const leave = (account_id: string, stream: Stream): void => {
    const own = open.get(account_id);
    own?.streams.delete(stream);
    pages.closed(account_id);
    if (own?.streams.size !== 0) return;
    own.unsubscribe();
    open.delete(account_id);
  };

  feed.onLost(endAll);

  /** Apart from `open`, whose parameters the body would otherwise keep. */
  const bodyFor = (request: Request, caller: Caller, usage: Usage | null) =>
    new ReadableStream(new Stream(request, caller, usage), IN_BYTES);

  return {
    async open(scope: RequestScope): Promise<Response> {
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
      const recorded = isForeign(request) ? null : usage;
      if (recorded) recordUse(recorded);
      return new Response(bodyFor(request, caller, recorded), { headers });
    },

    /** Accounts that have streams open now. */
    accounts: (): number => open.size,

    /** Streams open now. */
    count: (): number => [...open.values()].reduce((sum, { streams }) => sum + streams.size, 0),

    /** Streams ended so far because their account had more than {@link LIMITS.streams}, or read too slowly. */
    ended: (): Readonly<typeof ended> => ended,

    /** Ends every stream, and refuses later ones. */
    close(): void {
      closed = true;
      endAll();
    },
  };
}

function frame(name: StreamEvent["name"] | StoredEvent["name"], data: string): Uint8Array {
  return encoder.encode(`event: ${name}\ndata: ${data}\n\n`);
}
