/** One request from its arrival to its answer, for every surface. */

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
import { type ChargesOptions, createCharges, type RequestCharges } from "./request-charges.ts";
import { createCredential, type RequestCredential } from "./request-credential.ts";

interface RequestScopeOptions extends ChargesOptions {
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

export type OpenRequestScope = ReturnType<typeof createRequestScopes>;
export type RequestScope = ReturnType<OpenRequestScope>;

export function createRequestScopes(options: RequestScopeOptions) {
  const { auth, addresses, clock, waits, record, linkBaseOf } = options;
  return (request: Request) => {
    const started = clock.elapsed();
    const at = clock.now();
    addresses.watch(request);
    const address = () => addresses.of(request);
    const credential = createCredential(auth, request.headers.get("authorization"));
    const charges = createCharges(options, request, credential, address);
    return {
      request,
      /** When it arrived, by the monotonic clock. */
      started,
      credential,
      charges,
      turns: createRequestTurns(options, credential, charges, address),
      answer: createAnswer(options, request, credential, charges),
      waits: () => waits(request),
      address,
      linkBase: () => linkBaseOf(request),

      /** Enters an ended call into the request log. `mcp` is set by the surface whose clients name themselves. */
      ended(
        { action, host, error }: EndedCall,
        mcp?: { readonly client: ClientInfo | null },
      ): void {
        const caller = credential.caller();
        if (caller?.kind !== "key") return;
        const duration_ms = Math.max(0, Math.round((clock.elapsed() - started) * 1000));
        const surface = mcp ? "mcp" : "rest";
        const client = mcp?.client ?? null;
        record({ caller, at, surface, action, error, duration_ms, client, host });
      },
    } satisfies CallScope & Record<string, unknown>;
  };
}

const nothing = (): void => {};

/** The deadline of one request, and its turns of heavy work. */
function createRequestTurns(
  { deadlines, heavy_work }: Pick<RequestScopeOptions, "deadlines" | "heavy_work">,
  credential: RequestCredential,
  charges: RequestCharges,
  address: () => string,
) {
  /** When the whole request had arrived. */
  let arrived = deadlines.now();
  const within = <T>(work: Promise<T>): Promise<T> => deadlines.within(arrived, work);

  return {
    within,

    /** Starts the deadline anew, once the body was read. */
    bodyArrived(): void {
      arrived = deadlines.now();
    },

    /** Waits until the request may begin its next piece of heavy work (§11.2.4). */
    heavyWork(): Promise<void> {
      const caller = credential.caller();
      return within(heavy_work.next(caller ? callerId(caller) : address()));
    },

    async page() {
      const caller = credential.caller();
      if (!caller) return nothing;
      const turn = heavy_work.page(callerId(caller));
      try {
        const leave = await within(turn);
        charges.chargeDebt(caller);
        return leave;
      } catch (error) {
        // The turn may still come, but nobody waits for it.
        void turn.then((leave) => leave(), nothing);
        throw error;
      }
    },
  } satisfies CallScope["turns"] & Record<string, unknown>;
}

/** The large answer of one request: charged for, and counted until its client has read it. */
function createAnswer(
  { unsent, request_turns }: Pick<RequestScopeOptions, "unsent" | "request_turns">,
  request: Request,
  credential: RequestCredential,
  { chargeAnswer }: RequestCharges,
) {
  const caller = (): CredentialHolder | null => credential.caller() ?? null;
  const turn = request_turns.ended();
  return {
    /** True once the turn of the event loop in which the request began is over. */
    isLater: (): boolean => request_turns.ended() !== turn,

    /**
     * Makes a body of more than `LIMITS.answer_free_bytes`. `refusable`: the request changed nothing, so this
     * throws `429 rate_limited` while the caller leaves too many large answers unread.
     */
    large(bytes: Uint8Array<ArrayBuffer>, refusable: boolean): AnswerBody {
      chargeAnswer(bytes.length);
      if (refusable) unsent.admit(caller());
      return unsent.body(request, caller(), bytes);
    },

    /** Makes a body of a stream, each chunk of which is charged for. */
    relay: (source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> =>
      unsent.relay(request, caller(), source, chargeAnswer),
  };
}
