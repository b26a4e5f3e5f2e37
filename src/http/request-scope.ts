/** One request from its arrival to its answer: caller, limits, entry in the activity log. */

import type { Auth, Authenticated } from "../auth/authenticate.ts";
import type { Clock } from "../clock.ts";
import { fail, ServiceError } from "../errors.ts";
import { LIMITS, RATES, type Rate } from "../limits.ts";
import { type CredentialHolder, callerId } from "../model/caller.ts";
import type { ClientInfo } from "../model/client.ts";
import type { LinkBase } from "../model/pairing.ts";
import type { KeyRequest } from "../model/request-log.ts";
import type { Deadlines } from "../overload/deadlines.ts";
import type { HeavyWork } from "../overload/heavy-work.ts";
import {
  type AddressLimit,
  type Limiter,
  type Quota,
  quotaOf,
  tokensOf,
  tokensOfBody,
} from "../overload/limiter.ts";
import type { AnswerBody, Unsent } from "../overload/unsent-answers.ts";
import type { CallScope, EndedCall } from "../rpc/context.ts";
import { toServiceError } from "../rpc/errors.ts";
import type { RouteLimit } from "../rpc/meta.ts";
import type { Addresses } from "./address.ts";
import { checkDeclaredSize, mayExceed } from "./body.ts";

const nothing = (): void => {};

export interface RequestScope extends CallScope {
  readonly request: Request;
  /** When it arrived, by the monotonic clock ({@link Clock.elapsed}). */
  readonly started: number;
  /** Looks up the credential that was sent. */
  authenticate(): Promise<Authenticated | null>;
  /**
   * What this process remembers of the credential; if anything, it is looked up meanwhile, and
   * {@link confirm} waits for that.
   */
  recall(): Authenticated | null;
  /**
   * The outcome of a call, once the credential that was recalled was found to be valid still:
   * `401 unauthorized` otherwise, whatever the call gave.
   */
  confirm<T>(work: Promise<T>): Promise<T>;
  /**
   * Refuses a request whose address is above its limit, before its body is read, unless its
   * credential is valid: `429 rate_limited`. Undefined, without a promise, for any other address.
   */
  refuseExhausted(): Promise<void> | undefined;
  /**
   * Refuses a body of more than `LIMITS.exhausted_body_bytes`, or of no declared length, of an address
   * that is above its limit or above the route's own: `429 rate_limited`, before it is read. For
   * routes without a credential, which any address may call with an ordinary body.
   */
  refuseLargeBody(limit: RouteLimit | undefined): void;
  /**
   * Charges the caller for a body of more than `LIMITS.large_body_bytes`, or of no declared length,
   * before it is read (docs/interface.md 10.6.7). True: there is no valid credential or it is above its
   * limit, so the body is not to be read, and the call is refused for that. Undefined, without a
   * promise, for a small body.
   */
  chargeLargeBody(): Promise<boolean> | undefined;
  /** The caller once it is known, else its address: who takes turns with others. */
  sender(): string;
  /** Waits until the request may begin its next piece of heavy work (docs/interface.md 11.2.4). */
  heavyTurn(): Promise<void>;
  /**
   * As {@link refuseExhausted}, whatever credential was sent: that of the admin is not even
   * compared (docs/interface.md 4.3).
   */
  refuseAnyExhausted(): void;
  /**
   * The error to answer with. A refusal without a valid credential is charged to the address, and
   * is `429 rate_limited` once that has its full number (docs/interface.md 10.6.4).
   */
  refusal(error: ServiceError): Promise<ServiceError>;
  /** As {@link refusal}, once {@link authenticate} has been called. */
  refusalNow(error: ServiceError): ServiceError;
  /**
   * Call when its body of so many bytes was read: the time of {@link within} runs from here, and one
   * without a declared length is charged for.
   */
  bodyArrived(bytes: number): void;
  /** The rate limit for the answer's headers; null when none applies. */
  quota(): Quota | null;
  /** Charges the caller for an answer of this many bytes; its own headers include the charge. */
  spend(bytes: number): void;
  /** Throws `429 rate_limited` while the caller leaves too many large answers unread. */
  admitLarge(): void;
  /** The body of a large answer, counted until it was sent. */
  body(bytes: Uint8Array<ArrayBuffer>): AnswerBody;
  /** As {@link body}, for a streamed answer; calls {@link spend} for each chunk. */
  relay(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
  /** As for any surface; `mcp` is set on the surface whose clients name themselves. */
  ended(call: EndedCall, mcp?: { readonly client: ClientInfo | null }): void;
}

interface RequestScopeOptions {
  readonly auth: Auth;
  readonly limiter: Limiter;
  readonly addresses: Addresses;
  readonly unsent: Unsent;
  readonly clock: Clock;
  /** Marks a request as one that asked to wait. */
  readonly waits: (request: Request) => void;
  readonly deadlines: Deadlines;
  readonly heavy_work: HeavyWork;
  /** Queues an entry of the activity log. */
  readonly record: (request: KeyRequest) => void;
  /** Accounts that the address made within the hour, and when it made the first and the last. */
  readonly creationsOf: (address: string) => Promise<Creations>;
  /** The base address to give to another device. */
  readonly linkBaseOf: (request: Request) => LinkBase;
}

interface Creations {
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
}

export type OpenRequestScope = ReturnType<typeof createRequestScopes>;

export function createRequestScopes({
  auth,
  limiter,
  addresses,
  unsent,
  clock,
  waits,
  deadlines,
  heavy_work,
  record,
  creationsOf,
  linkBaseOf,
}: RequestScopeOptions) {
  return (request: Request): RequestScope => {
    const started = clock.elapsed();
    const at = clock.now();
    /** When the whole request had arrived. */
    let arrived = deadlines.now();
    /** Undefined until it was looked up. */
    let caller: CredentialHolder | null | undefined;
    /** Whether it was an account token that has ended. */
    let ended_token = false;
    let quota: Quota | null = null;
    /** The quota to show if the request is refused: only accounts that were made count. */
    let unspent: Quota | null = null;
    /** The refusal for its address, which is then not charged again. */
    let exhausted: ServiceError | undefined;
    /** The result of {@link RequestScope.chargeLargeBody}: whether the caller is charged already, or refused. */
    let charged_ahead = false;
    let refused_ahead: ServiceError | undefined;
    addresses.watch(request);
    const address = () => addresses.of(request);

    /** The look-up of a credential that was recalled. */
    let looked_up: Promise<Authenticated | null> | undefined;

    const recallCaller = (): Authenticated | null => {
      const recalled = auth.recall(request.headers.get("authorization"));
      if (!recalled) return null;
      looked_up = authenticate();
      // Its error counts once the call has ended.
      looked_up.catch(() => null);
      caller = recalled.caller;
      return recalled;
    };

    const authenticate = async () => {
      const found = await auth.authenticate(request.headers.get("authorization"));
      caller = found?.caller ?? null;
      ended_token = !found && (await auth.hasEnded(request.headers.get("authorization")));
      return found;
    };

    /** The error with what is known of the end of its token (docs/interface.md §4.1.7). */
    const withEnd = (error: ServiceError): ServiceError => {
      const { code, challenge } = error;
      if (code !== "unauthorized" || error.ended || !ended_token) return error;
      return new ServiceError(code, { ended: true, ...(challenge !== undefined && { challenge }) });
    };

    /** Charges the address one call; throws `429 rate_limited` when it has none left. */
    const refuseAddress = (name: AddressLimit = "address"): void => {
      caller = null;
      try {
        quota = limiter.chargeAddress(name, address());
      } catch (limited) {
        quota = limiter.peekAddress(name, address());
        if (limited instanceof ServiceError) exhausted = limited;
        throw limited;
      }
    };

    const refusalNow = (refused: ServiceError): ServiceError => {
      const error = withEnd(refused);
      if (exhausted) return exhausted;
      quota = unspent ?? quota;
      // An error of the server is not charged.
      if (caller || caller === undefined || error.status >= 500) return error;
      try {
        const left = limiter.chargeAddress("address", address());
        quota = unspent ?? left;
        return error;
      } catch (limited) {
        if (error.code === "rate_limited" || !(limited instanceof ServiceError)) return error;
        quota = limiter.peekAddress("address", address());
        return limited;
      }
    };

    /**
     * The limit toward which the refusal of this credential counts instead of the address's own (docs/interface.md
     * §18.8.2), unless that limit is reached: of an access token that has expired, and of no credential at `/mcp`.
     */
    const forgivenBy = async (credential: string | null): Promise<AddressLimit | null> => {
      const begins = credential === null && new URL(request.url).pathname === "/mcp";
      if (!begins && !(await auth.isExpired(credential))) return null;
      const name = begins ? "mcp_challenges" : "expired_tokens";
      return limiter.exhausted(name, address) ? null : name;
    };

    /** The account that has the `token` of this input already; null if there is none. */
    const ownerOf = async (input: unknown): Promise<CredentialHolder | null> => {
      const { token } = (input ?? {}) as { readonly token?: unknown };
      if (typeof token !== "string") return null;
      const found = await auth.authenticate(`Bearer ${token}`);
      return found?.caller.kind === "account" ? found.caller : null;
    };

    /** The caller whose unread answers are counted. */
    const reader = () => caller ?? null;

    const spend = (bytes: number): void => {
      const tokens = tokensOf(bytes);
      if (caller && tokens > 0) quota = limiter.spend(caller, tokens);
    };

    const sender = () => (caller ? callerId(caller) : address());
    const heavyTurn = () => deadlines.within(arrived, heavy_work.next(sender()));

    const spendOnBody = (bytes: number): void => {
      const tokens = tokensOfBody(bytes);
      if (caller && tokens > 0) quota = limiter.spend(caller, tokens);
    };

    return {
      request,
      started,
      recall: recallCaller,
      sender,
      heavyTurn,
      authenticate,
      refusalNow,

      confirm(work) {
        // The usual case needs no further promise.
        if (!looked_up) return work;
        const confirmed = async () => ((await looked_up) ? work : fail("unauthorized"));
        return work.then(confirmed, confirmed);
      },

      refuseExhausted() {
        if (!limiter.exhausted("address", address)) return undefined;
        const credential = request.headers.get("authorization");
        if (credential !== null && !auth.isWellFormed(credential)) refuseAddress();
        return authenticate().then(async (found) => {
          if (!found && (await forgivenBy(credential)) === null) refuseAddress();
        });
      },

      refuseLargeBody(limit) {
        const names: AddressLimit[] =
          limit === undefined || limit === "accounts" ? ["address"] : ["address", limit];
        const name = names.find((one) => limiter.exhausted(one, address));
        if (name && mayExceed(request, LIMITS.exhausted_body_bytes)) refuseAddress(name);
      },

      chargeLargeBody() {
        if (!limiter.on || !mayExceed(request, LIMITS.large_body_bytes)) return undefined;
        const declared = checkDeclaredSize(request);
        return authenticate().then(() => {
          if (!caller) return true;
          try {
            quota = limiter.charge(caller);
            charged_ahead = true;
            spendOnBody(declared ?? 0);
          } catch (limited) {
            refused_ahead = toServiceError(limited);
          }
          return refused_ahead !== undefined;
        });
      },

      refuseAnyExhausted() {
        if (limiter.exhausted("address", address)) refuseAddress();
      },

      async refusal(error) {
        if (!limiter.on || error.status >= 500) return withEnd(error);
        // Without the store the caller is unknown: then nobody is charged.
        if (caller === undefined) await authenticate().catch(() => null);
        const credential = request.headers.get("authorization");
        const forgiven = !caller && error.status === 401 && (await forgivenBy(credential));
        if (!forgiven) return refusalNow(error);
        quota = limiter.chargeAddress(forgiven, address());
        return error;
      },

      quota: () => quota ?? (caller ? limiter.peek(caller) : null),

      charge() {
        if (refused_ahead) throw refused_ahead;
        if (!caller) return;
        // Each call of a batch is charged by itself, and the first one is paid.
        if (charged_ahead) charged_ahead = false;
        else quota = limiter.charge(caller);
        unsent.admit(caller);
      },

      async pageTurn() {
        if (!caller) return nothing;
        const turn = heavy_work.page(callerId(caller));
        try {
          const leave = await deadlines.within(arrived, turn);
          if (limiter.overdrawn(caller)) quota = limiter.charge(caller);
          unsent.admit(caller);
          return leave;
        } catch (error) {
          // It may still arrive, but nobody waits for it any more.
          void turn.then((leave) => leave(), nothing);
          throw error;
        }
      },

      spend,

      admitLarge: () => unsent.admit(reader()),
      body: (bytes) => unsent.body(request, reader(), bytes),
      relay: (source) => unsent.relay(request, reader(), source, spend),

      async limit(name, input) {
        if (!limiter.on) return;
        if (name !== "accounts") {
          unspent = limiter.peekAddress(name, address());
          unspent = quota = limiter.chargeAddress(name, address());
          return;
        }
        const rate: Rate = RATES.accounts;
        if (rate.quota === 0) return;
        const { count, first_at, last_at } = await creationsOf(address());
        // In this order: of two repetitions at once, one may have made the last account of the limit.
        const owner = await ownerOf(input);
        if (owner) {
          unspent = limiter.peek(owner);
          unspent = quota = limiter.charge(owner);
          return;
        }
        const until = (at: number) => Math.max(0, Math.ceil(at + rate.window - clock.now()));
        const left = Math.max(0, rate.quota - count);
        unspent = quotaOf(name, rate, left, until(last_at));
        quota = quotaOf(name, rate, left - 1, rate.window);
        if (left > 0) return;
        limiter.refused.accounts++;
        fail("rate_limited", { retry_after: Math.max(1, until(first_at)) });
      },

      bodyArrived(bytes) {
        arrived = deadlines.now();
        if (charged_ahead && !request.headers.has("content-length")) spendOnBody(bytes);
      },

      within: (work) => deadlines.within(arrived, work),

      waits: () => waits(request),

      ended({ action, host, error }, mcp) {
        if (caller?.kind !== "key") return;
        const duration_ms = Math.max(0, Math.round((clock.elapsed() - started) * 1000));
        record({
          caller,
          at,
          surface: mcp ? "mcp" : "rest",
          action,
          error,
          duration_ms,
          client: mcp?.client ?? null,
          host,
        });
      },

      address,
      linkBase: () => linkBaseOf(request),
    };
  };
}
