/** What must work through whatever stands in front of Relay: requests by curl, over TLS, as a client sends them. */

import { run } from "./run.ts";

/** Another loopback address, as that of another client. */
const OTHER_CLIENT = "127.0.0.2";
/** Accounts that an address may create in an hour. */
const ACCOUNTS_PER_ADDRESS = 5;
/** Seconds that a stream is read. */
const STREAM = 3;

/** An address that leads to Relay. */
export interface Front {
  /** The base URL that clients use, without a slash at its end. */
  readonly url: string;
  /** The file with the certificate authority of its certificate. */
  readonly ca: string;
  /** Options of curl for the requests of a page, such as the cookie of a sign-in. */
  readonly page?: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends a request by curl; `path` may be a whole URL. */
export async function curl(
  { url, ca }: Front,
  path: string,
  ...options: string[]
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const { text } = await run([
    ...["curl", "-sS", "-i", "-N", "--max-time", "20", "--cacert", ca],
    ...["--resolve", `${hostname}:${port || 443}:127.0.0.1`, ...options],
    path.startsWith("https:") ? path : url + path,
  ]);
  const [head = "", ...rest] = text.split("\r\n\r\n");
  return { status: Number(/^HTTP\S* (\d+)/.exec(head)?.[1] ?? 0), head, body: rest.join("\n") };
}

export const bearer = (token: string) => ["-H", `Authorization: Bearer ${token}`];
const json = (body: object) => [
  ...["-H", "Content-Type: application/json"],
  ...["-d", JSON.stringify(body)],
];

export interface Checked {
  readonly faults: readonly string[];
  /** An account token, and a key of that account. */
  readonly token: string;
  readonly key: string;
}

/** Resolves once Relay answers through it. */
export async function untilFrontAnswers(front: Front, child?: Bun.Subprocess): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (child && child.exitCode !== null) {
      throw new Error(`it ended: ${await new Response(child.stderr as ReadableStream).text()}`);
    }
    if ((await curl(front, "/health")).body.includes('"version"')) return;
    await Bun.sleep(100);
  }
  throw new Error(`${front.url} did not answer`);
}

/** Checks what a recipe promises. Relay must have `PUBLIC_URL` and `TRUST_PROXY` of the recipe, and its limits. */
export async function checkFront(front: Front): Promise<Checked> {
  const faults: string[] = [];
  const expect = (what: string, good: boolean) => {
    if (!good) faults.push(what);
  };
  const page = await curl(front, "/", ...(front.page ?? []));
  expect("the page is served", page.status === 200 && page.body.includes("<title>Relay"));
  expect("responses have HSTS", /^strict-transport-security:/im.test(page.head));

  // The address that counts is that of the client, whatever it claims.
  const create = (...options: string[]) => curl(front, "/v1/accounts", "-X", "POST", ...options);
  const made: Answer[] = [];
  for (let i = 0; i <= ACCOUNTS_PER_ADDRESS; i++) {
    made.push(await create("-H", `X-Forwarded-For: 203.0.113.${i}`));
  }
  const statuses = made.map(({ status }) => status);
  const expected = [...Array<number>(ACCOUNTS_PER_ADDRESS).fill(201), 429];
  expect(`clients cannot choose their address (${statuses})`, Bun.deepEquals(statuses, expected));
  const other = await create("--interface", OTHER_CLIENT);
  expect(`each client has its own limit (${other.status})`, other.status === 201);

  const token = /mca_[\w-]+/.exec(made[0]!.body)?.[0] ?? "";
  const origin = (from: string) => ["-H", `Origin: ${from}`];
  const key_of = (from: string) =>
    curl(front, "/v1/keys", ...bearer(token), ...origin(from), ...json({ label: "A" }));
  const own = await key_of(new URL(front.url).origin);
  const key = /"secret":"(mck_[\w-]+)/.exec(own.body)?.[1] ?? "";
  expect(`the page at its address may make changes (${own.status})`, key !== "");
  const foreign = await key_of("https://elsewhere.example");
  expect(`other pages may not (${foreign.status})`, foreign.status === 403);

  const stream = curl(front, "/v1/events", ...bearer(token), "--max-time", String(STREAM));
  await Bun.sleep(1_000);
  const task = await curl(front, "/v1/tasks", ...bearer(key), ...json({ title: "Seen" }));
  const id = /tsk_\w+/.exec(task.body)?.[0] ?? "none";
  // What is buffered would come with the end of the stream, which is later.
  expect("events arrive at once", (await stream).body.includes(id));

  const { origin: host, pathname } = new URL(front.url);
  const path = pathname === "/" ? "" : pathname;
  const metadata = await curl(front, `${host}/.well-known/oauth-protected-resource${path}/mcp`);
  expect("MCP clients find its metadata", metadata.body.includes(`"${front.url}/mcp"`));
  return { faults, token, key };
}
