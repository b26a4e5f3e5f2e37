/**
 * Responses that are not tRPC's: the server's own refusals before a procedure is called, and what another
 * program on the way answers, such as a proxy or its sign-in page.
 */

import { errorOf, RelayError } from "../../client/error.ts";
import { serverUrl } from "./server-url.ts";

/** Milliseconds to find out what became of a failed request. */
const PROBE_WITHIN = 4_000;

/**
 * `fetch`, which throws {@link RelayError} with the status 0 if a proxy redirects requests to another
 * origin, such as to its sign-in page: a browser reports that like a lost connection.
 */
export async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (!init.signal?.aborted && (await isRedirected())) {
      throw new RelayError("unexpected_response", "Redirected to another page", { status: 0 });
    }
    throw error;
  }
}

async function isRedirected(): Promise<boolean> {
  if (!navigator.onLine) return false;
  const signal = AbortSignal.timeout(PROBE_WITHIN);
  // A small file that every proxy in front of the page guards too, and that no service worker answers.
  const options = { redirect: "manual", cache: "no-store", signal } as const;
  const found = await fetch(serverUrl("manifest.webmanifest"), options).catch(() => null);
  return found?.type === "opaqueredirect";
}

/** The response, if tRPC made it; throws {@link RelayError} for any other. Reads the body to its end. */
export async function tunnelled(response: Response): Promise<Response> {
  const { ok, status, headers } = response;
  const text = await response.text();
  if (isEnvelope(text, ok)) return new Response(text, { status, headers });
  if (!ok) throw await errorOf(new Response(text, { status, headers }));
  throw new RelayError("unexpected_response", `HTTP ${status} that is not from Relay`, { status });
}

/** True if a body has the form that tRPC gives to a result or an error, or to several in a batch. */
function isEnvelope(text: string, ok: boolean): boolean {
  // Results are large, and are parsed anyway.
  if (ok && text.startsWith('{"result":')) return true;
  try {
    return [JSON.parse(text)].flat().every((one) => isOne(one, ok));
  } catch {
    return false;
  }
}

function isOne(found: unknown, ok: boolean): boolean {
  const { result, error } = Object(found) as { result?: unknown; error?: unknown };
  if (result !== undefined) return ok;
  const { data } = Object(error) as { data?: unknown };
  return typeof (Object(data) as { code_name?: unknown }).code_name === "string";
}

/** Says what a program between the browser and Relay answered. */
export function outsideMessage(status: number | null): string {
  const http = status ? ` (HTTP ${status})` : "";
  if (status === 413) {
    return `A server between this browser and Relay refused this because it's too large${http}.`;
  }
  if (status !== null && (SIGN_IN.has(status) || status < 400)) {
    return `A server between this browser and Relay asks you to sign in to it${http}. Reload this page to sign in.`;
  }
  return `A server between this browser and Relay refused this${http}.`;
}

/** Statuses after which a sign-in to the program in between may help. */
const SIGN_IN: ReadonlySet<number> = new Set([401, 407, 511]);
