/** Bodies that begin and do not go on: together they hold so much, and the oldest of them go. */

import { afterEach, expect, test } from "bun:test";
import { createBodyRoom } from "../../src/http/body-room.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPair } from "../support/client.ts";
import { sampleOf } from "../support/exposition.ts";
import { connect, head, type RawConnection } from "../support/raw.ts";
import { until } from "../support/until.ts";
import { expectProblem } from "../support/wire.ts";

const app = await startTestApp({ env: ADMIN });
const { person, agent } = await createPair(app.url);

/** The longest body, and how many of them there can be at once: 64 MiB in all. */
const LONGEST = 256 * 1024;
const ROOM = 256;

const JSON_TYPE = { "content-type": "application/json" };
const authorization = `Bearer ${agent.secret}`;
const BODY = '{"title":"t"}'.padEnd(LONGEST);

/** Every connection that is still open. */
const open: RawConnection[] = [];

/** Requests that are not answered yet, without the one that asks. */
const inFlight = async () =>
  sampleOf((await metricsOf(app.url)).all, "http_requests_in_flight")! - 1;

interface Begun {
  readonly path?: string;
  /** True: in chunks, without a declared length, and nothing of it yet. */
  readonly chunked?: boolean;
  readonly headers?: Record<string, string>;
  /** How many others are given up for it. */
  readonly instead?: number;
}

/** Begins so many bodies of the full length, and waits until the server has them all. */
async function begin(
  count: number,
  { path = "/v1/tasks", chunked = false, headers = {}, instead = 0 }: Begun = {},
): Promise<RawConnection[]> {
  const before = await inFlight();
  const framing = chunked
    ? { "transfer-encoding": "chunked" }
    : { "content-length": String(LONGEST) };
  const text = head("POST", path, { ...JSON_TYPE, ...framing, ...headers });
  const connections = await Promise.all(Array.from({ length: count }, () => connect(app.url)));
  open.push(...connections);
  for (const connection of connections) connection.write(chunked ? text : text + BODY[0]);
  await until(async () => (await inFlight()) === before + count - instead);
  return connections;
}

/** Begins one. */
const beginOne = async (begun?: Begun) => (await begin(1, begun))[0]!;

/** Ends every connection, and waits until the server knows. */
async function leave(): Promise<void> {
  for (const connection of open.splice(0)) connection.end();
  await until(async () => (await inFlight()) === 0);
}

afterEach(leave);

test("once bodies hold 64 MiB, the oldest is refused for the sake of the next, on every surface", async () => {
  const rest = await beginOne();
  const trpc = await beginOne({ path: "/trpc/tasks.create" });
  const mcp = await beginOne({ path: "/mcp" });
  const others = await begin(ROOM - 3, { headers: { authorization } });
  expect(await inFlight()).toBe(ROOM);

  // However small it is, it is taken.
  const title = { title: "small" };
  expect((await agent.send("POST /v1/tasks", title)).status).toBe(201);
  const refused = (await rest.answer())!;
  expectProblem(refused, "rate_limited");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(JSON.parse(refused.text).detail).toMatch(/^Too many bodies are under way/);
  // That one's room was more than enough.
  expect((await agent.send("POST /v1/tasks", title)).status).toBe(201);
  expect(await inFlight()).toBe(ROOM - 1);

  await begin(2, { instead: 1 });
  const told = (await trpc.answer())!;
  expect([told.status, told.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(JSON.parse(told.text).error.data.code_name).toBe("rate_limited");
  await begin(1, { instead: 1 });
  expectProblem((await mcp.answer())!, "rate_limited");

  // The others go on where they were.
  expect(await inFlight()).toBe(ROOM);
  for (const connection of others.slice(0, 20)) {
    connection.write(BODY.slice(1));
    expect((await connection.answer())!.status).toBe(201);
  }
});

test("a body that ended, however it did, holds nothing any more", async () => {
  const ends: Record<string, () => Promise<unknown>> = {
    read: () => agent.send("POST /v1/tasks", BODY),
    "read in chunks": async () => {
      const connection = await beginOne({ chunked: true, headers: { authorization } });
      connection.write(`40000\r\n${BODY}\r\n0\r\n\r\n`);
      expect((await connection.answer())!.status).toBe(201);
    },
    refused: () => agent.send("POST /v1/tasks", "{".repeat(LONGEST)),
    "too large": async () => {
      const connection = await beginOne({ chunked: true });
      connection.write(`40000\r\n${BODY}\r\n1\r\n \r\n`);
      expectProblem((await connection.answer())!, "body_too_large");
    },
    left: async () => {
      await beginOne();
      await leave();
    },
    "left in chunks": async () => {
      const connection = await beginOne({ chunked: true });
      connection.write(`40000\r\n${BODY.slice(1)}`);
      await leave();
    },
  };
  for (const end of Object.values(ends)) for (let i = 0; i < 3; i++) await end();
  // One given up before its end, too.
  const oldest = await beginOne();
  await begin(ROOM - 1);
  expect((await agent.send("POST /v1/tasks", { title: "t" })).status).toBe(201);
  expectProblem((await oldest.answer())!, "rate_limited");
  await leave();

  await begin(ROOM);
  expect(await inFlight()).toBe(ROOM);
  expect((await agent.send("POST /v1/tasks", { title: "t" })).status).toBe(201);
  expect(await inFlight()).toBe(ROOM - 1);
});

test("a body in chunks counts with what came of it", async () => {
  const oldest = await beginOne();
  await begin(ROOM - 2);
  const chunks = await beginOne({ chunked: true, headers: { authorization } });
  // Nothing of it came, so there is room for one more.
  await beginOne();
  expect(await inFlight()).toBe(ROOM + 1);
  chunks.write("1\r\n{\r\n");
  expectProblem((await oldest.answer())!, "rate_limited");
  chunks.write(`${(LONGEST - 1).toString(16)}\r\n${BODY.slice(1)}\r\n`);
  chunks.write("0\r\n\r\n");
  expect((await chunks.answer())!.status).toBe(201);
  expect(await inFlight()).toBe(ROOM - 1);
});

test("a request without a body goes through while there is no room", async () => {
  await begin(ROOM);
  expect((await client(app.url)("POST /v1/accounts")).status).toBe(201);
  expect((await person.send("GET /v1/keys")).status).toBe(200);
  expect(await inFlight()).toBe(ROOM);
});

test("what still comes of a body that was given up counts for nothing", () => {
  const room = createBodyRoom(10);
  const given_up: string[] = [];
  const enter = (name: string) => room.enter(({ code }) => given_up.push(`${name} ${code}`));
  const [a, b] = [enter("a"), enter("b")];
  room.hold(a, 6);
  room.hold(b, 6);
  expect(given_up).toEqual(["a rate_limited"]);
  room.hold(a, 6);
  room.leave(a);
  room.hold(b, 4);
  expect(given_up).toHaveLength(1);
});
