/** Peers that send more than they should, in every part of an answer, over real sockets (§11.6.6). */

import { afterAll, describe, expect, test } from "bun:test";
import net from "node:net";
import tls from "node:tls";
import { systemClock } from "../../src/clock.ts";
import { OutboundError } from "../../src/outbound/guard.ts";
import { createOwnedOutbound } from "../support/outbound.ts";
import { createAuthority } from "../support/tls.ts";
import { until } from "../support/until.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const EARLY = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";

/** What a peer sends first, and then without end. */
const FLOODS: Readonly<Record<string, readonly [first: string, then: string]>> = {
  "hints before the response": ["", EARLY],
  "the shortest responses before the response": ["", "HTTP/1.1 100 \r\n\r\n"],
  "large responses before the response": ["", `HTTP/1.1 103 X\r\nA: ${"a".repeat(8_000)}\r\n\r\n`],
  headers: [OK, `A: ${"a".repeat(4_000)}\r\n`],
  "short headers": [OK, "A:\r\n"],
  "a header without an end": [`${OK}A: `, "a"],
  "a status line without an end": ["HTTP/1.1 200 ", "a"],
  "a body": [`${OK}\r\n`, "abcdefgh\n"],
  "chunks of one byte": [CHUNKED, "1\r\nx\r\n"],
  "extensions of chunks": [CHUNKED, `1;${"a".repeat(1_000)}\r\nx\r\n`],
  "an extension of a chunk without an end": [`${CHUNKED}1;`, "a"],
  trailers: [`${CHUNKED}0\r\n`, "A: b\r\n"],
  "no HTTP": ["", "\0"],
  "empty lines": ["", "\r\n"],
};

const authority = await createAuthority();
const identity = await authority.issue();
let flood = FLOODS.headers!;
/** Sockets that a peer still floods. */
const open = new Set<net.Socket>();

function attack(socket: net.Socket) {
  open.add(socket);
  socket.on("error", () => {});
  socket.on("close", () => open.delete(socket));
  socket.once("data", () => {
    const [first, then] = flood;
    const part = Buffer.from(then.repeat(Math.ceil(65_536 / then.length)), "latin1");
    socket.write(first, "latin1");
    const go = () => {
      while (!socket.destroyed && socket.write(part));
    };
    socket.on("drain", go);
    go();
  });
}

const plain = net.createServer(attack);
const secure = tls.createServer(identity, attack);
const portOf = (server: net.Server) =>
  new Promise<number>((ready) => {
    server.listen(0, "127.0.0.1", () => ready((server.address() as net.AddressInfo).port));
  });
const plain_port = await portOf(plain);
const secure_port = await portOf(secure);
afterAll(() => {
  for (const socket of open) socket.destroy();
  plain.close();
  secure.close();
});

const outbound = createOwnedOutbound({
  private_networks: ["127.0.0.0/8"],
  ca: authority.ca,
  timers: systemClock,
});
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof OutboundError ? error.fault : String(error)),
  );
const BOUNDS = { line: 4_096, idle: 180, burst: 262_144, per_second: 1_000 };

const request = (url: string) => faultOf(outbound.request({ url, method: "POST", body: "x" }));
/** Reads an answer without an end until it ends. */
const listen = (url: string) =>
  faultOf(
    (async () => {
      const { signal } = new AbortController();
      const answer = await outbound.lines({ url, bounds: BOUNDS, signal });
      for await (const _ of answer.lines);
    })(),
  );

describe.each(Object.keys(FLOODS))("endless: %s", (name) => {
  // Within 10 seconds, so it is not the deadline that ends it.
  test.each([
    ["a request", request, `http://127.0.0.1:${plain_port}/`],
    ["a request over TLS", request, `https://localhost:${secure_port}/`],
    ["a subscription", listen, `http://127.0.0.1:${plain_port}/`],
    ["a subscription over TLS", listen, `https://localhost:${secure_port}/`],
  ] as const)("%s is cut off [§11.6.6]", async (_, send, url) => {
    flood = FLOODS[name]!;
    expect(["answer_too_large", "failed"]).toContain(await send(url));
    await until(() => open.size === 0);
  });
});

test("endless responses before the response do not occupy the event loop [§11.6.6]", async () => {
  flood = FLOODS["the shortest responses before the response"]!;
  // The peer is another process: its own work would count here.
  const peer = Bun.spawn(
    [
      process.execPath,
      "-e",
      `const part = Buffer.from("HTTP/1.1 100 \\r\\n\\r\\n".repeat(30_000));
      require("node:net").createServer((socket) => {
        socket.on("error", () => {});
        const go = () => { while (!socket.destroyed && socket.write(part)); };
        socket.on("drain", go);
        socket.once("data", go);
      }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });`,
    ],
    { stdout: "pipe" },
  );
  const { value } = await peer.stdout.getReader().read();
  const url = `http://127.0.0.1:${Number(Buffer.from(value!).toString())}/`;
  const before = process.cpuUsage();
  const faults = await Promise.all(Array.from({ length: 10 }, () => request(url)));
  const { user, system } = process.cpuUsage(before);
  peer.kill();
  expect(new Set(faults)).toEqual(new Set(["answer_too_large"]));
  // Before, ten of them took all of it until their deadline, 10 seconds.
  expect((user + system) / 1e6).toBeLessThan(2);
});

test("a peer that sends early responses and then the response is read [§11.6.6]", async () => {
  const kind = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(`${EARLY.repeat(4)}${OK}Content-Length: 2\r\n\r\nok`));
  });
  const port = await portOf(kind);
  const answer = await outbound.request({ url: `http://127.0.0.1:${port}/`, method: "GET" });
  expect([answer.status, answer.body.toString()]).toEqual([200, "ok"]);
  kind.close();
});

test("a large body in short chunks is cut off after so many of them [§11.6.6]", async () => {
  flood = FLOODS["chunks of one byte"]!;
  const url = `http://127.0.0.1:${plain_port}/`;
  const work = outbound.request({ url, method: "GET", max_bytes: 4 * 1024 * 1024 });
  expect(await faultOf(work)).toBe("answer_too_large");
  await until(() => open.size === 0);
});

test("a response of the size that is permitted is read in any chunks [§11.6.6]", async () => {
  for (const part of [4, 64, 65_536]) {
    const chunk = `${part.toString(16)}\r\n${"x".repeat(part)}\r\n`;
    const kind = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(`${CHUNKED}${chunk.repeat(65_536 / part)}0\r\n\r\n`));
    });
    const port = await portOf(kind);
    const answer = await outbound.request({ url: `http://127.0.0.1:${port}/`, method: "GET" });
    expect([part, answer.body.length]).toEqual([part, 65_536]);
    kind.close();
  }
});
