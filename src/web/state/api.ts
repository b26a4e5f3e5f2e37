/** The typed client of the server's procedures, and what its errors mean to a person. */

import { createTRPCClient, httpLink, TRPCClientError, type TRPCLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import { observable } from "@trpc/server/observable";
import type { AppRouter } from "../../../routers/index.ts";

type Outputs = inferRouterOutputs<AppRouter>;
export type Account = Outputs["accounts"]["get"];
export type Key = Outputs["keys"]["list"]["keys"][number];
export type Task = Outputs["tasks"]["get"];
export type Status = Task["status"];
export type Priority = Task["priority"];
export type Question = Outputs["questions"]["get"];
export type Item = Outputs["messages"]["send"];
export type Entry = Outputs["keys"]["activity"]["items"][number];
export type Device = Outputs["devices"]["list"]["devices"][number];

/** An address of this server: the page may be served under a path. */
export const here = (path: string): string => new URL(path, document.baseURI).href;

export type Api = ReturnType<typeof createApi>;

/** Milliseconds that the server has to answer a call. */
const PATIENCE = 15_000;

const KEY = "idempotency-key";

/** For a change that the server makes once under this key, however often it comes (docs/interface.md 8). */
export const once = (key: string) => ({ context: { [KEY]: key } });

/** The code of changes whose answer did not come: the server may have made them. */
const unanswered = new WeakMap<object, "unanswered" | "repeatable">();

/**
 * Takes note of changes whose answer did not come. Once `ended`, nobody hears of a call that is still
 * under way.
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
          // Gone is what was wanted: the answer to an earlier try may be the one that was lost.
          if (op.path.endsWith(".delete") && error.data?.code_name === "not_found") {
            observer.next({ result: { data: undefined } });
            return observer.complete();
          }
          if (op.type === "mutation" && !error.data) {
            unanswered.set(error, KEY in op.context ? "repeatable" : "unanswered");
          }
          observer.error(error);
        },
      }),
    );

/** `fetch` that gives up after a while. */
function patiently(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
  const late = AbortSignal.timeout(PATIENCE);
  return fetch(input, {
    ...init,
    signal: init.signal ? AbortSignal.any([init.signal, late]) : late,
  });
}

/**
 * Calls with this token, or with none to create an account, until they are of no more use. `note` gets
 * the headers of every answer.
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
          const response = await patiently(input as RequestInfo, init as RequestInit);
          note(response.headers);
          return response;
        },
        url: here("trpc"),
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
   * The server's code. When it did not answer: `repeatable` or `unanswered` of a change that it may
   * have made, and else `offline`.
   */
  readonly code: string;
  /** A sentence for the person. */
  readonly message: string;
  /** Why each field was refused. */
  readonly fields: Readonly<Record<string, string>>;
}

const MESSAGES: Readonly<Record<string, string>> = {
  offline: "The server cannot be reached.",
  unanswered:
    "The server cannot be reached. It is not known whether this was done: look before you try again.",
  repeatable:
    "The server cannot be reached. Try again without a change: then it is done once, not twice.",
  unauthorized: "This token is not valid, or no longer.",
  not_found: "It is not there any more.",
  question_not_pending: "This question has been settled already.",
  rate_limited: "Too many requests. Try again in a moment.",
  account_creation_off: "This server does not take new accounts.",
  attestation_required: "On this server, accounts are created in the app. Use a token here.",
  too_many_keys: "The account has as many agents as it can have.",
  too_many_tasks: "This agent has as many tasks as it can have.",
  store_unavailable: "The server cannot reach its data. Try again in a moment.",
  internal: "Something went wrong on the server.",
};

/** What went wrong, whatever was thrown. */
export function faultOf(error: unknown): Fault {
  const data = error instanceof TRPCClientError ? error.data : null;
  const code: string = data?.code_name ?? unanswered.get(Object(error)) ?? "offline";
  const fields: Fault["fields"] = data?.fields ?? {};
  const [first] = Object.values(fields).map((reason) => `This ${reason}.`);
  const reason = code === "invalid_fields" ? first : undefined;
  return { code, message: reason ?? MESSAGES[code] ?? (error as Error).message, fields };
}
