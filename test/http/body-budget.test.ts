/** Bodies that start and then stall: how much they may hold, for how long, and whose is abandoned first. */

import { afterEach, expect, test } from "bun:test";
import { createBodyBudget } from "../../src/overload/body-budget.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { sampleOf } from "../support/exposition.ts";
import { connect, head, type RawConnection, sendRaw } from "../support/raw.ts";
import { until } from "../support/until.ts";
import { expectProblem } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock, env: { ...ADMIN, TRUST_PROXY: "1" } });
const { person, agent } = await createPair(app.url);

/** The longest body, and how many of them fit at once: 64 MiB in all. */
const LONGEST = 256 * 1024;
const ROOM = 256;
/** Bodies of one address at once, however little of them has arrived. */
const PER_ADDRESS = 1_024;

const JSON_TYPE = { "content-type": "application/json" };
const authorization = `Bearer ${agent.secret}`;
const BODY = '{"title":"t"}'.padEnd(LONGEST);

/** Every open connection. */
const open: RawConnection[] = [];

/** Unanswered requests, without the one that asks. */
const inFlight = async () =>
  sampleOf((await metricsOf(app.url)).all, "http_requests_in_flight")! - 1;

interface Begun {
  readonly path?: string;
  /** Bytes of it to send; all but one by default. */
  readonly sent?: number;
  /** The declared length. */
  readonly length?: number;
  /** True: in chunks, without a declared length. */
  readonly chunked?: boolean;
  /** The address that it comes from. */
  readonly from?: string;
  readonly headers?: Record<string, string>;
  /** How many bodies are abandoned for it. */
  readonly instead?: number;
}

/** Starts this many bodies, and waits until the server has what was sent of them. */
async function begin(count: number, begun: Begun = {}): Promise<RawConnection[]> {
  const { path = "/v1/tasks", length = LONGEST, chunked, from = "203.0.113.1" } = begun;
  const { sent = length - 1, headers = {}, instead = 0 } = begun;
  const before = await inFlight();
  const framing = chunked
    ? { "transfer-encoding": "chunked" }
    : { "content-length": String(length) };
  const text = head("POST", path, {
    ...JSON_TYPE,
    ...framing,
    "x-forwarded-for": from,
    ...headers,
  });
  const connections = await Promise.all(Array.from({ length: count }, () => connect(app.url)));
  open.push(...connections);
  const part = BODY.slice(0, sent);
  const chunk = chunked && sent > 0 ? `${sent.toString(16)}\r\n${part}\r\n` : part;
  // The head first, so that the server waits for the body.
  for (const connection of connections) connection.write(text);
  await until(async () => (await inFlight()) >= before + count - instead);
  for (const connection of connections) connection.write(chunk);
  await until(async () => (await inFlight()) === before + count - instead);
  return connections;
}

const beginOne = async (begun?: Begun) => (await begin(1, begun))[0]!;

/** Ends every connection, and waits until the server notices. */
async function leave(): Promise<void> {
  for (const connection of open.splice(0)) connection.end();
  await until(async () => (await inFlight()) === 0);
}

afterEach(leave);

/** Sends the last byte of a body that `begin` started. */
async function finish(connection: RawConnection): Promise<number> {
  connection.write(BODY.slice(-1));
  return (await connection.answer())!.status;
}

test("above 64 MiB the address that holds the most loses its oldest body, on every surface [§11.2.2]", async () => {
  const from = "203.0.113.7";
  const oldest = await beginOne({ from: "203.0.113.6", headers: { authorization } });
  const rest = await beginOne({ from });
  const trpc = await beginOne({ path: "/trpc/tasks.create", from });
  const mcp = await beginOne({ path: "/mcp", from });
  const theirs = await begin(ROOM - 61, { from });
  const ours = await begin(57, { from: "203.0.113.8", headers: { authorization } });
  expect(await inFlight()).toBe(ROOM);

  // The other address holds the most, although ours exceeds the bound.
  await begin(1, { from: "203.0.113.8", instead: 1 });
  const refused = (await rest.answer())!;
  expectProblem(refused, "rate_limited");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(JSON.parse(refused.text).detail).toMatch(/^Too many request bodies are being received/);
  await begin(1, { from: "203.0.113.9", instead: 1 });
  const told = (await trpc.answer())!;
  expect([told.status, told.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(JSON.parse(told.text).error.data.code_name).toBe("rate_limited");
  await begin(1, { from: "203.0.113.9", instead: 1 });
  expectProblem((await mcp.answer())!, "rate_limited");
  // The connection of an abandoned body is closed.
  for (const connection of [rest, trpc, mcp]) expect(await connection.answer()).toBeNull();

  expect(await inFlight()).toBeGreaterThan(ROOM - 3);
  for (const connection of ours.slice(0, 20)) expect(await finish(connection)).toBe(201);
  expect(await finish(oldest)).toBe(201);
  expect(await finish(theirs[0]!)).toBe(401);
});

test("declared bytes that were not sent do not count", async () => {
  const ours = await begin(2, { from: "203.0.113.8", headers: { authorization } });
  // Together they declare 250 MiB.
  await begin(1_000, { sent: 0 });
  expect(await inFlight()).toBe(1_002);
  for (const connection of ours) expect(await finish(connection)).toBe(201);
});

test("one address has 1,024 bodies under way, and one more replaces its oldest", async () => {
  const ours = await beginOne({ from: "203.0.113.8", headers: { authorization } });
  const oldest = await beginOne({ sent: 0 });
  await begin(PER_ADDRESS - 1, { sent: 0, length: 20 });
  expect(await inFlight()).toBe(PER_ADDRESS + 1);
  await begin(3, { sent: 0, instead: 3 });
  expectProblem((await oldest.answer())!, "rate_limited");
  expect(await finish(ours)).toBe(201);
});

test("a body that has ended in any way no longer counts", async () => {
  const ends: Record<string, () => Promise<unknown>> = {
    read: () => agent.send("POST /v1/tasks", BODY),
    "read late": async () => {
      const connection = await beginOne({ length: 1_000, headers: { authorization } });
      expect(await finish(connection)).toBe(201);
    },
    "read in chunks": async () => {
      const connection = await beginOne({ chunked: true, headers: { authorization } });
      connection.write("1\r\n \r\n0\r\n\r\n");
      expect((await connection.answer())!.status).toBe(201);
    },
    refused: () => agent.send("POST /v1/tasks", "{".repeat(LONGEST)),
    "too large": async () => {
      const connection = await beginOne({ chunked: true });
      connection.write("2\r\n  \r\n");
      expectProblem((await connection.answer())!, "body_too_large");
    },
    left: async () => {
      await beginOne();
      await leave();
    },
    "left in chunks": async () => {
      await beginOne({ chunked: true });
      await leave();
    },
    "with two lengths": () =>
      sendRaw(app.url, "POST", "/v1/tasks", {
        ...JSON_TYPE,
        "content-length": "2\r\ncontent-length: 2",
      }),
  };
  for (const end of Object.values(ends)) for (let i = 0; i < 3; i++) await end();
  // Also a body that was abandoned before its end.
  const oldest = await beginOne();
  await begin(ROOM, { instead: 1 });
  expectProblem((await oldest.answer())!, "rate_limited");
  await leave();

  await begin(ROOM);
  expect(await inFlight()).toBe(ROOM);
  await begin(1, { instead: 1 });
});

test("a request without a body, or with all of it, succeeds while there is no room", async () => {
  await begin(ROOM);
  expect((await client(app.url)("POST /v1/accounts")).status).toBe(201);
  expect((await person.send("GET /v1/keys")).status).toBe(200);
  expect((await agent.send("POST /v1/tasks", { title: "small" })).status).toBe(201);
  expect(await inFlight()).toBe(ROOM);
});

test("a body that is incomplete after 30 s is refused, and its connection closed", async () => {
  const slow = await beginOne({ sent: 1 });
  const small = await beginOne({ sent: 1, length: 20 });
  await clock.advance(20);
  const later = await beginOne({ headers: { authorization } });
  await clock.advance(9.9);
  expect(await inFlight()).toBe(3);
  await clock.advance(0.2);
  for (const connection of [slow, small]) {
    const answer = (await connection.answer())!;
    expectProblem(answer, "invalid_json");
    expect(JSON.parse(answer.text).detail).toBe("The body did not arrive within 30 s.");
    expect(answer.headers.get("connection")).toBe("close");
    expect(await connection.answer()).toBeNull();
  }
  expect(await finish(later)).toBe(201);
  expect(await inFlight()).toBe(0);
});

test("bytes that arrive for an abandoned body do not count", async () => {
  const limits = { bodies_bytes: 10, bodies: 100, bodies_per_address: 100, body_seconds: 30 };
  const room = createBodyBudget({ clock: createTestClock(), limits });
  const turn = () => new Promise<void>((next) => setImmediate(next));
  const given_up: string[] = [];
  const enter = (name: string) =>
    room.enter(
      () => name,
      0,
      ({ code }) => given_up.push(`${name} ${code}`),
    );
  const [a, b] = [enter("a"), enter("b")];
  await turn();
  room.hold(a, 6);
  room.hold(b, 5);
  expect(given_up).toEqual(["a rate_limited"]);
  room.hold(a, 6);
  room.leave(a);
  room.hold(b, 5);
  expect(given_up).toHaveLength(1);
  room.hold(b, 1);
  expect(given_up).toEqual(["a rate_limited", "b rate_limited"]);
});
