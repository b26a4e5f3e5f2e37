/** An OAuth client as the RFCs describe it, one request at a time, for tests that change one of them. */

import { createHash, randomBytes } from "node:crypto";
import { type Answer, client, type Person } from "./client.ts";

export const REDIRECT = "http://127.0.0.1:4999/callback";

interface TokenAnswer {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

/** A `code_verifier` and its challenge by S256. */
export function createVerifier() {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** Posts a form. */
export async function postForm(
  url: string,
  fields: Record<string, string> | URLSearchParams | [string, string][],
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(fields as Record<string, string>).toString(),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? null : JSON.parse(text),
  };
}

/** Registers a client and returns its id. */
export async function register(url: string, body: object = {}): Promise<string> {
  const answer = await client(url)("POST /oauth/register", {
    client_name: "Test client",
    redirect_uris: [REDIRECT],
    ...body,
  });
  if (answer.status !== 201) throw new Error(`no client: ${JSON.stringify(answer.body)}`);
  return answer.body.client_id;
}

/** Sends an authorization request, and does not follow the response. */
export const authorize = (url: string, fields: Record<string, string>): Promise<Response> =>
  fetch(`${url}/oauth/authorize?${new URLSearchParams(fields)}`, { redirect: "manual" });

/** The signed request in the page's address. */
export function sealedOf(response: Response): string {
  const location = response.headers.get("location") ?? "";
  const [, sealed] = /\/#\/authorize\/([\w.-]+)$/.exec(location) ?? [];
  if (response.status !== 303 || sealed === undefined) throw new Error(`${response.status}`);
  return sealed;
}

/** The parameters of a response to a client. */
export const answerOf = (redirect_to: string): Record<string, string> =>
  Object.fromEntries(new URL(redirect_to).searchParams);

interface FlowOptions {
  readonly client_id?: string;
  /** The key to give access to; a new one when absent. */
  readonly key_id?: string;
  readonly resource?: string;
}

/** A client's valid authorization request, signed for the page. */
export async function startRequest(url: string, options: FlowOptions = {}) {
  const client_id = options.client_id ?? (await register(url));
  const { verifier, challenge } = createVerifier();
  const asked = await authorize(url, {
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "the-state",
    scope: "agent",
    resource: options.resource ?? `${url}/mcp`,
  });
  return { client_id, verifier, request: sealedOf(asked) };
}

/** A complete authorization up to the code, with what is needed to redeem it. */
export async function obtainCode(
  url: string,
  person: Pick<Person, "send">,
  options: FlowOptions = {},
) {
  const { client_id, verifier, request } = await startRequest(url, options);
  const approved = await person.send("POST /v1/oauth/approve", {
    request,
    ...(options.key_id === undefined ? { label: "Test client" } : { key_id: options.key_id }),
  });
  if (approved.status !== 200) throw new Error(`not approved: ${JSON.stringify(approved.body)}`);
  const { code } = answerOf(approved.body.redirect_to);
  const fields = {
    grant_type: "authorization_code",
    code: code!,
    client_id,
    redirect_uri: REDIRECT,
    code_verifier: verifier,
  };
  return {
    client_id,
    request,
    approved: approved.body,
    key: approved.body.key,
    code: code!,
    fields,
  };
}

export const requestTokens = (url: string, fields: Record<string, string>): Promise<Answer> =>
  postForm(`${url}/oauth/token`, fields);

export const refresh = (url: string, refresh_token: string, more: Record<string, string> = {}) =>
  requestTokens(url, { grant_type: "refresh_token", refresh_token, ...more });

/** A client with tokens for a key. */
export async function connectClient(
  url: string,
  person: Pick<Person, "send">,
  options: FlowOptions = {},
) {
  const flow = await obtainCode(url, person, options);
  const { status, body } = await requestTokens(url, flow.fields);
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(body)}`);
  const tokens = body as TokenAnswer;
  return { ...flow, tokens, send: client(url, tokens.access_token) };
}
