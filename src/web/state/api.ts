/** Typed client of the server's procedures, and error messages for the person. */

import { createTRPCClient, httpLink, TRPCClientError, type TRPCLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import { observable } from "@trpc/server/observable";
import type { AppRouter } from "../../../routers/index.ts";
import { RelayError } from "../../client/error.ts";
import { abortWith } from "../../client/signals.ts";
import { outsideMessage, reach, tunnelled } from "./outside.ts";
import { serverUrl } from "./server-url.ts";

type Outputs = inferRouterOutputs<AppRouter>;
export type Account = Outputs["accounts"]["get"];
export type Key = Outputs["keys"]["list"]["keys"][number];
export type Task = Outputs["tasks"]["get"];
export type HistoryPage = Outputs["tasks"]["history"];
export type HistoryEntry = HistoryPage["items"][number];
export type Status = Task["status"];
export type Priority = Task["priority"];
export type Question = Outputs["questions"]["get"];
export type Channel = Outputs["channels"]["list"]["channels"][number];
export type ChannelProblem = NonNullable<Outputs["channels"]["check"]["problem"]>;
export type ChannelLink = Outputs["channels"]["getLink"];
export type TestOutcome = Outputs["channels"]["test"];
export type Delivery = Outputs["deliveries"]["list"]["deliveries"][number];
export type Item = Outputs["messages"]["send"];
export type Entry = Outputs["keys"]["activity"]["items"][number];
export type Authorization = Outputs["oauth"]["request"];
export type Grant = Outputs["keys"]["grants"]["grants"][number];
/** A session of the interface. (`Session` in this code is the state of this browser's sign-in.) */
export type SignIn = Outputs["sessions"]["list"]["sessions"][number];
export type Pairing = Outputs["pairings"]["create"];
export type Device = Outputs["devices"]["list"]["devices"][number];

export type Api = ReturnType<typeof createApi>;

/** Milliseconds to wait for a response. */
const TIMEOUT = 15_000;

const KEY = "idempotency-key";

/** Options of a mutation that the server carries out once per key (§8). */
export const withIdempotencyKey = (key: string) => ({ context: { [KEY]: key } });

/** Fault codes of mutations without a response: the server may have carried them out. */
const unanswered = new WeakMap<object, "unanswered" | "repeatable">();

/**
 * tRPC link that records mutations without a response, and treats a deletion of something already
 * deleted as done. After `ended` aborts, results of calls in flight are dropped.
 */
const changesLink =
  (ended: AbortSignal): TRPCLink<AppRouter> =>
  () =>
  ({ next, op }) =>
    observable((observer) =>
      next(op).subscribe({
        next: (value) => ended.aborted || observer.next(value),
        complete: () => ended.aborted || observer.complete(),
        error: (error) => {
          if (ended.aborted) return;
          // The response to an earlier attempt may have been lost.
          if (op.path.endsWith(".delete") && error.data?.code_name === "not_found") {
            observer.next({ result: { data: undefined } });
            return observer.complete();
          }
          const known = error.data ?? outsideOf(error);
          if (op.type === "mutation" && !known) {
            unanswered.set(error, KEY in op.context ? "repeatable" : "unanswered");
          }
          observer.error(error);
        },
      }),
    );

/** `fetch` with a time limit. */
function fetchInTime(url: string, init: RequestInit): Promise<Response> {
  const ended = new AbortController();
  // Both signals end with the request, so nothing is left to detach.
  abortWith(ended, init.signal);
  abortWith(ended, AbortSignal.timeout(TIMEOUT));
  return reach(url, { ...init, signal: ended.signal });
}

/**
 * Makes a client with this account token, or null for calls without a sign-in. After `ended`
 * aborts, results are dropped. `note` gets the headers of every response.
 */
export function createApi(
  token: string | null,
  ended = new AbortController().signal,
  note: (headers: Headers) => void = () => {},
) {
  const credential = token === null ? {} : { authorization: `Bearer ${token}` };
  return createTRPCClient<AppRouter>({
    links: [
      changesLink(ended),
      httpLink({
        async fetch(input, init) {
          const response = await fetchInTime(String(input), init as RequestInit);
          note(response.headers);
          return tunnelled(response);
        },
        url: serverUrl("trpc"),
        headers({ op }) {
          const key = op.context[KEY] as string | undefined;
          return { ...credential, ...(key !== undefined && { [KEY]: key }) };
        },
      }),
    ],
  });
}

export interface Fault {
  /**
   * The server's code. Without a response: `repeatable` or `unanswered` for a mutation, which the
   * server may have carried out, and `offline` for anything else. `intercepted`: a program between the
   * browser and Relay refused the request. `not_kept`: the browser cannot keep what the page has to keep first.
   */
  readonly code: string;
  /** A message for the person. */
  readonly message: string;
  /** Invalid fields and the reason of each. */
  readonly fields: Readonly<Record<string, string>>;
  /**
   * Of `unauthorized`: true if this server ended the token, so that it can be erased; otherwise the
   * token may still be valid (§4.1.7).
   */
  readonly ended?: boolean;
  /** Seconds after which the server asks to try again. */
  readonly retry_after?: number;
}

/** Codes after which the same request may succeed later, without the person doing anything. */
export const LATER: ReadonlySet<string> = new Set([
  "offline",
  "unanswered",
  "repeatable",
  "rate_limited",
  "store_unavailable",
  "internal",
  "unauthorized",
]);

/** The refusal behind an error of a call or of the event stream, if tRPC did not render it; null for other errors. */
function outsideOf(error: unknown): RelayError | null {
  const found = error instanceof TRPCClientError ? error.cause : error;
  if (!(found instanceof RelayError) || found.code === "no_response") return null;
  // 511: a network, such as a hotel's, asks the person to sign in to it, so waiting alone does not help.
  const is_passing = found.is_transient && found.status !== 511;
  return found.code === "unexpected_response" && is_passing ? null : found;
}

const NOT_KEPT = "This browser can't save data for this page: its storage is full or blocked.";

const MESSAGES: Readonly<Record<string, string>> = {
  offline: "Can't reach the server.",
  unanswered:
    "Couldn't reach the server. Your change may have been saved: check before you try again.",
  repeatable: "Couldn't reach the server. Try again; it won't be sent twice.",
  unauthorized: "This token isn't valid on this server.",
  not_found: "This no longer exists.",
  question_not_pending: "This question is no longer open.",
  rate_limited: "Too many requests. Try again in a moment.",
  account_creation_off: "This server doesn't accept new accounts.",
  attestation_required:
    "On this server, accounts are created in the app. Sign in with a token here.",
  last_session: "This is your account's only sign-in.",
  too_many_sessions: "Your account can't have more sign-ins. Sign out one you no longer use.",
  too_many_channels: "Your account can't have more channels. Delete one you no longer use.",
  too_many_keys: "Your account can't have more agents.",
  account_full: "Your account can't store more. Delete tasks or agents you no longer need.",
  too_many_tasks: "This agent can't have more tasks.",
  store_unavailable: "The server can't access its data. Try again in a moment.",
  internal: "Something went wrong on the server.",
};

const ENDED = "This token is no longer valid.";

/** Faults of the browser's storage: it is full, or access to it is refused. */
const STORAGE_FAULTS: ReadonlySet<string> = new Set(["QuotaExceededError", "SecurityError"]);

/** The message for `unauthorized` without `ended`, in a browser that is signed in. */
export const UNKNOWN_SIGN_IN = "The server doesn't recognize this browser's sign-in.";

/** The server's message if it says when to try again. */
function timedMessage(error: unknown): string | undefined {
  const { message } = error as Error;
  return /Try again in \d/.test(message) ? message : undefined;
}

/** The message of a fault after which the person can simply try again. */
export const retryMessage = ({ code, message }: Fault): string =>
  code === "unanswered" ? "Couldn't reach the server. Try again." : message;

/** Turns any thrown value into a fault. */
export function faultOf(error: unknown): Fault {
  const outside = outsideOf(error);
  if (outside?.code === "unexpected_response") {
    return { code: "intercepted", message: outsideMessage(outside.status), fields: {} };
  }
  if (error instanceof DOMException && STORAGE_FAULTS.has(error.name)) {
    return { code: "not_kept", message: NOT_KEPT, fields: {} };
  }
  const data = error instanceof TRPCClientError ? error.data : null;
  const code: string =
    data?.code_name ?? outside?.code ?? unanswered.get(Object(error)) ?? "offline";
  const fields: Fault["fields"] = data?.fields ?? outside?.fields ?? {};
  const ended: boolean = data?.ended ?? outside?.ended ?? false;
  const retry_after = error instanceof RelayError ? error.retry_after : outside?.retry_after;
  const [first] = Object.values(fields).map((reason) => `This ${reason}.`);
  const reason = code === "invalid_fields" ? first : timedMessage(error);
  const message = ended ? ENDED : (reason ?? MESSAGES[code] ?? (error as Error).message);
  return {
    ...{ code, message, fields },
    ...(ended && { ended }),
    ...(typeof retry_after === "number" && { retry_after }),
  };
}
