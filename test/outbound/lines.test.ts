/** Answers without an end: their lines, and the bounds of lines, bytes and silence, over real sockets. */

import { afterAll, expect, test } from "bun:test";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../src/clock.ts";
import { OutboundError } from "../../src/outbound/guard.ts";
import { createTestClock } from "../support/clock.ts";
import { createOwnedOutbound } from "../support/outbound.ts";
import { until } from "../support/until.ts";

const BOUNDS = { line: 4_096, idle: 180, burst: 100_000, per_second: 1_000 };
const open: ServerResponse[] = [];
let closed = 0;
const server = createServer((_request, response) => {
  response.on("close", () => closed++);
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.flushHeaders();
  open.push(response);
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
afterAll(() => server.closeAllConnections());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/topic/json`;

async function begin(options: { timers?: typeof systemClock; bounds?: typeof BOUNDS } = {}) {
  const { timers = systemClock, bounds = BOUNDS } = options;
  const outbound = createOwnedOutbound({ private_networks: ["127.0.0.0/8"], timers });
  const leaving = new AbortController();
  const before = open.length;
  const answer = await outbound.lines({ url, bounds, signal: leaving.signal });
  const response = open[before]!;
  const lines: string[] = [];
  const over = (async () => {
    try {
      for await (const line of answer.lines) lines.push(line);
      return "end";
    } catch (error) {
      return error instanceof OutboundError ? error.fault : String(error);
    }
  })();
  return { answer, response, lines, over, leave: () => leaving.abort() };
}

test("lines arrive as they are sent, in parts of any size, and characters stay whole", async () => {
  const { answer, response, lines, over } = await begin();
  expect(answer.status).toBe(200);
  response.write("one\ntw");
  await until(() => lines.length === 1);
  response.write("o\r\n");
  await until(() => lines.length === 2);
  const bytes = Buffer.from("grün 🙂\n\n");
  for (const byte of bytes) response.write(Buffer.from([byte]));
  await until(() => lines.length === 4);
  response.end("no end of line");
  expect(await over).toBe("end");
  expect(lines).toEqual(["one", "two", "grün 🙂", ""]);
});

test("a line over the bound is left out while it is read; the next one arrives", async () => {
  const { response, lines, over } = await begin();
  for (let i = 0; i < 60; i++) response.write("x".repeat(1_000));
  response.write(`\n${"y".repeat(4_096)}\n${"z".repeat(4_097)}\nnext\n`);
  await until(() => lines.length === 2);
  expect(lines).toEqual(["y".repeat(4_096), "next"]);
  response.end();
  await over;
});

test("a line that never ends is silence, and ends the answer", async () => {
  const timers = createTestClock();
  const { response, over } = await begin({ timers });
  response.write("x".repeat(5_000));
  await timers.advance(179);
  response.write("x".repeat(5_000));
  await timers.advance(1.1);
  expect(await over).toBe("timed_out");
  await until(() => response.destroyed);
});

test("a server that sends more than the bound is cut off", async () => {
  const { response, over } = await begin();
  const flood = () => {
    while (!response.destroyed && response.write(`${"x".repeat(1_000)}\n`));
  };
  response.on("drain", flood);
  flood();
  expect(await over).toBe("answer_too_large");
  await until(() => response.destroyed);
});

test("many short lines are a flood too, and hold up no other work [§19.8.8]", async () => {
  const bounds = { ...BOUNDS, per_second: 0 };
  const { response, lines, over } = await begin({ bounds });
  let most = 0;
  let before = 0;
  let watching = true;
  const watch = () => {
    most = Math.max(most, lines.length - before);
    before = lines.length;
    if (watching) setImmediate(watch);
  };
  watch();
  response.write("\n".repeat(50_000));
  expect(await over).toBe("answer_too_large");
  watching = false;
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.length).toBeLessThanOrEqual(bounds.burst / 256);
  expect(most).toBeLessThanOrEqual(50);
});

test("an abort closes the connection, and so does leaving the loop", async () => {
  const first = await begin();
  first.leave();
  expect(await first.over).toBe("failed");
  await until(() => first.response.destroyed);
  const second = await begin();
  second.response.write("one\ntwo\n");
  await until(() => second.lines.length === 2);
  const before = closed;
  second.leave();
  await until(() => closed > before);
});

test("addresses are checked, and a server that is away throws", async () => {
  const outbound = createOwnedOutbound({ private_networks: [], timers: systemClock });
  const { signal } = new AbortController();
  const fault = (of: string) =>
    outbound.lines({ url: of, bounds: BOUNDS, signal }).then(
      () => "none",
      (error: unknown) => (error instanceof OutboundError ? error.fault : String(error)),
    );
  expect(await fault(url)).toBe("forbidden_address");
  expect(await fault("ftp://127.0.0.1/x")).toBe("invalid_url");
  const own = createOwnedOutbound({ private_networks: ["127.0.0.0/8"], timers: systemClock });
  const away = own.lines({ url: "http://127.0.0.1:1/x", bounds: BOUNDS, signal });
  expect(await away.then(String, (error: Error) => error.message)).toBe("unreachable");
});
