/** One request from its arrival to its answer, for every surface. */

import { type Log, withFields } from "../log.ts";
import { type CredentialHolder, callerId } from "../model/caller.ts";
import type { ClientInfo } from "../model/client.ts";
import type { LinkBase } from "../model/pairing.ts";
import type { KeyRequest } from "../model/request-log.ts";
import type { Deadlines } from "../overload/deadlines.ts";
import type { HeavyWork } from "../overload/heavy-work.ts";
import type { createTurns } from "../overload/turns.ts";
import type { AnswerBody } from "../overload/unsent-answers.ts";
import type { CallScope, EndedCall } from "../rpc/context.ts";
import type { ClientAddresses } from "./client-address.ts";
import { type ChargesOptions, RequestCharges } from "./request-charges.ts";
import { RequestCredential } from "./request-credential.ts";
import type { RequestIds } from "./request-id.ts";

interface RequestScopeOptions extends ChargesOptions {
  readonly request_ids: RequestIds;
  readonly log: Log;
  readonly addresses: ClientAddresses;
  readonly deadlines: Deadlines;
  readonly heavy_work: HeavyWork;
  /** Counts the turns of the event loop in which requests began. */
  readonly request_turns: Pick<ReturnType<typeof createTurns>, "ended">;
  /** Marks a request as one that asked to wait. */
  readonly waits: (request: Request) => void;
  /** Queues an entry of the request log. */
  readonly record: (request: KeyRequest) => void;
  /** The base address to give to another device. */
  readonly linkBaseOf: (request: Request) => LinkBase;
}

export type OpenRequestScope = (request: Request) => RequestScope;

export const createRequestScopes =
  (options: RequestScopeOptions): OpenRequestScope =>
  (request) =>
    new RequestScope(options, request);

/** The parts of a request are classes, since thousands of requests that wait hold them. */
export class RequestScope implements CallScope {
  readonly #options: RequestScopeOptions;
  readonly request: Request;
  /** In the response and in log lines (§1.2.11). */
  readonly id: string;
  /** True once it is in the response. */
  id_is_sent = false;
  /** When it arrived, by the monotonic clock. */
  readonly started: number;
  /** When it arrived, epoch seconds. */
  readonly at: number;
  readonly credential: RequestCredential;
  readonly charges: RequestCharges;
  readonly turns: RequestTurns;
  readonly answer: Answer;
  /** Id of the resource in the answer; undefined for any other. Never text of a client. */
  about: string | undefined;
  /** True if the request changed that resource. */
  changed = false;
  readonly address = (): string => this.#options.addresses.of(this.request);

  constructor(options: RequestScopeOptions, request: Request) {
    this.#options = options;
    this.request = request;
    const { auth, addresses, clock, request_ids } = options;
    this.id = request_ids.of(request);
    this.started = clock.elapsed();
    this.at = clock.now();
    addresses.watch(this);
    this.credential = new RequestCredential(auth, request.headers.get("authorization"));
    this.charges = new RequestCharges(options, request, this.credential, this.address);
    this.turns = new RequestTurns(options, this);
    this.answer = new Answer(options, this);
  }

  /** Milliseconds since it arrived. */
  durationMs(): number {
    return Math.max(0, Math.round((this.#options.clock.elapsed() - this.started) * 1000));
  }

  answered(answer: unknown, changed: boolean): void {
    const id = (answer as { readonly id?: unknown } | null | undefined)?.id;
    if (typeof id !== "string") return;
    this.about = id;
    this.changed = changed;
  }

  log(): Log {
    return withFields(this.#options.log, { request_id: this.id });
  }

  waits(): void {
    this.#options.waits(this.request);
  }

  linkBase(): LinkBase {
    return this.#options.linkBaseOf(this.request);
  }

  /** Enters an ended call into the request log. `mcp` is set by the surface whose clients name themselves. */
  ended({ action, host, error }: EndedCall, mcp?: { readonly client: ClientInfo | null }): void {
    const caller = this.credential.caller();
    if (caller?.kind !== "key") return;
    const { record } = this.#options;
    const duration_ms = this.durationMs();
    const surface = mcp ? "mcp" : "rest";
    const client = mcp?.client ?? null;
    const entry = {
      caller,
      at: this.at,
      surface,
      action,
      error,
      duration_ms,
      client,
      host,
    } as const;
    // A call may fail before it is known that its credential has ended (§15.1.2).
    this.credential.whenValid(() => record(entry));
  }
}

const nothing = (): void => {};

/** The deadline of one request, and its turns of heavy work. */
class RequestTurns {
  readonly #options: Pick<RequestScopeOptions, "deadlines" | "heavy_work">;
  readonly #scope: Pick<RequestScope, "credential" | "charges" | "address">;
  /** When the whole request had arrived. */
  #arrived: number;

  constructor(
    options: Pick<RequestScopeOptions, "deadlines" | "heavy_work">,
    scope: Pick<RequestScope, "credential" | "charges" | "address">,
  ) {
    this.#options = options;
    this.#scope = scope;
    this.#arrived = options.deadlines.now();
  }

  within<T>(work: Promise<T>): Promise<T> {
    return this.#options.deadlines.within(this.#arrived, work);
  }

  /** Starts the deadline anew, once the body was read. */
  bodyArrived(): void {
    this.#arrived = this.#options.deadlines.now();
  }

  /** Waits until the request may begin its next piece of heavy work (§11.2.4). */
  heavyWork(): Promise<void> {
    const caller = this.#scope.credential.caller();
    const owner = caller ? callerId(caller) : this.#scope.address();
    return this.within(this.#options.heavy_work.next(owner));
  }

  async page(): Promise<() => void> {
    const caller = this.#scope.credential.caller();
    if (!caller) return nothing;
    const turn = this.#options.heavy_work.page(callerId(caller));
    try {
      const leave = await this.within(turn);
      this.#scope.charges.chargeDebt(caller);
      return leave;
    } catch (error) {
      // The turn may still come, but nobody waits for it.
      void turn.then((leave) => leave(), nothing);
      throw error;
    }
  }
}

/** The large answer of one request: charged for, and counted until its client has read it. */
class Answer {
  readonly #options: Pick<RequestScopeOptions, "unsent" | "request_turns">;
  readonly #scope: Pick<RequestScope, "request" | "credential" | "charges">;
  readonly #turn: number;

  constructor(
    options: Pick<RequestScopeOptions, "unsent" | "request_turns">,
    scope: Pick<RequestScope, "request" | "credential" | "charges">,
  ) {
    this.#options = options;
    this.#scope = scope;
    this.#turn = options.request_turns.ended();
  }

  #caller(): CredentialHolder | null {
    return this.#scope.credential.caller() ?? null;
  }

  /** True once the turn of the event loop in which the request began is over. */
  isLater(): boolean {
    return this.#options.request_turns.ended() !== this.#turn;
  }

  /**
   * Makes a body of more than `LIMITS.answer_free_bytes`. `refusable`: the request changed nothing, so this
   * throws `429 rate_limited` while the caller leaves too many large answers unread.
   */
  large(bytes: Uint8Array<ArrayBuffer>, refusable: boolean): AnswerBody {
    const { unsent } = this.#options;
    this.#scope.charges.chargeAnswer(bytes.length);
    if (refusable) unsent.admit(this.#caller());
    return unsent.body(this.#scope.request, this.#caller(), bytes);
  }

  /** Makes a body of a stream, each chunk of which is charged for. */
  relay(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const { request, charges } = this.#scope;
    return this.#options.unsent.relay(request, this.#caller(), source, (bytes) =>
      charges.chargeAnswer(bytes),
    );
  }
}
