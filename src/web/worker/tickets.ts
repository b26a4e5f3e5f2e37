/**
 * Requests with a notification's ticket: the worker, which does not have the page's token, answers the
 * question and sends receipts with it (§19).
 */

import { after } from "../clock.ts";
import { page_url } from "./scope.ts";

/** Milliseconds to wait for a response. */
const TIMEOUT = 8_000;
/**
 * Seconds before each further attempt: few enough that the browser still permits opening a window.
 */
const RETRIES = [0.5, 1.5, 3] as const;

export interface Ticket {
  readonly question_id: string;
  readonly ticket: string;
}

/** The outcome of an answer. */
export type AnswerOutcome =
  | { readonly is: "answered" }
  /** The question had ended. `answer`: null unless another answer came first. */
  | { readonly is: "ended"; readonly status: string; readonly answer: string | null }
  /** The server refused it, or could not be reached. */
  | { readonly is: "refused" | "unreachable" };

/** Answers the question. Safe to repeat: the server counts the same answer twice as one. */
export async function sendAnswer(ticket: Ticket, answer: string): Promise<AnswerOutcome> {
  const response = await persist(() => request(ticket, "POST", "/answer", { answer }));
  if (!response) return { is: "unreachable" };
  if (response.ok) return (await isJson(response)) ? { is: "answered" } : { is: "refused" };
  if (response.status !== 409) return { is: "refused" };
  const read = await persist(() => request(ticket, "GET", ""));
  const question = read?.ok ? await read.json().catch(() => null) : null;
  return { is: "ended", status: question?.status ?? "", answer: question?.answer ?? null };
}

/** True if the server itself answered, and not a proxy with its sign-in page. */
async function isJson(response: Response): Promise<boolean> {
  const body: unknown = await response.json().catch(() => null);
  return typeof body === "object" && body !== null;
}

/** Tells the server that the person could see the question, or opened or answered it. */
export async function sendReceipt(ticket: Ticket, event: "shown" | "opened"): Promise<void> {
  await persist(() => request(ticket, "POST", "/receipts", { event }));
}

/** Answers the test of a channel by the code of its notification. Safe to repeat. */
export async function sendReached(channel_id: string, code: string): Promise<void> {
  await persist(() => post(`channels/${encodeURIComponent(channel_id)}/reached`, { code }));
}

/**
 * Repeats a request while the server cannot be reached or cannot serve it; null after the last
 * attempt.
 */
async function persist(send: () => Promise<Response>): Promise<Response | null> {
  for (const pause of [...RETRIES, null]) {
    const response = await send().catch(() => null);
    if (response && response.status !== 429 && response.status < 500) return response;
    if (pause !== null) await new Promise<void>((resolve) => after(pause, resolve));
  }
  return null;
}

function request(
  { question_id, ticket }: Ticket,
  method: "GET" | "POST",
  path: "" | "/answer" | "/receipts",
  body?: object,
): Promise<Response> {
  const headers = { authorization: `Bearer ${ticket}` };
  const route = `questions/${encodeURIComponent(question_id)}${path}`;
  return method === "POST" ? post(route, body ?? {}, headers) : call(route, { method, headers });
}

const post = (route: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  call(route, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const call = (route: string, init: RequestInit): Promise<Response> =>
  fetch(new URL(`v1/${route}`, page_url), {
    ...init,
    // Sent even if the browser ends the worker.
    keepalive: true,
    signal: AbortSignal.timeout(TIMEOUT),
  });
