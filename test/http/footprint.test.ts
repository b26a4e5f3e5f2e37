/** What the server keeps for each idle event stream and each wait: objects that thousands of them would multiply. */

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { connect } from "../support/raw.ts";
import { until } from "../support/until.ts";

const app = await startTestApp({ clock: createTestClock() });

/** Connections that are opened twice: what the server makes once counts at the first time only. */
const COUNT = 64;
const PER_ACCOUNT = 16;
/** Bytes that Bun may reserve for the body of a stream. */
const RESERVED = 64 * 1024;

const get = (path: string, credential: string) =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${credential}\r\n\r\n`;

/** Functions and scopes that stay for each connection, those of the client in this process included. */
async function keptFor(requests: readonly string[], open: () => number): Promise<number> {
  const counts: number[] = [];
  for (const some of [requests.slice(0, COUNT), requests.slice(COUNT)]) {
    const before = open();
    for (const request of some) (await connect(app.url)).write(request);
    await until(() => open() === before + COUNT);
    Bun.gc(true);
    const { objectTypeCounts: kinds } = heapStats();
    counts.push((kinds.Function ?? 0) + (kinds.JSLexicalEnvironment ?? 0));
  }
  return (counts[1]! - counts[0]!) / COUNT;
}

/** The sizes of all objects of a class. */
function sizesOf(name: string): number[] {
  const { nodes, nodeClassNames } = Bun.generateHeapSnapshot() as {
    nodes: number[];
    nodeClassNames: string[];
  };
  const wanted = nodeClassNames.indexOf(name);
  const sizes: number[] = [];
  for (let at = 0; at < nodes.length; at += 4)
    if (nodes[at + 2] === wanted) sizes.push(nodes[at + 1]!);
  return sizes;
}

test("an idle event stream keeps few closures, and reserves no buffer", async () => {
  const people = await Promise.all(
    Array.from({ length: (2 * COUNT) / PER_ACCOUNT }, () => createPerson(app.url)),
  );
  const requests = people.flatMap(({ token }) => Array(PER_ACCOUNT).fill(get("/v1/events", token)));
  expect(await keptFor(requests, app.streams.count)).toBeLessThan(20);
  const sizes = sizesOf("ReadableHTTPResponseSinkController");
  expect(sizes.length).toBeGreaterThanOrEqual(2 * COUNT);
  expect(Math.max(...sizes)).toBeLessThan(RESERVED);
});

test("a wait keeps few closures", async () => {
  const requests: string[] = [];
  while (requests.length < 2 * COUNT) {
    const { agent } = await createPair(app.url);
    for (let i = 0; i < PER_ACCOUNT; i++) {
      const { id } = await ask(agent.send);
      requests.push(get(`/v1/questions/${id}?wait=50`, agent.secret));
    }
  }
  expect(await keptFor(requests, app.waits.count)).toBeLessThan(60);
});
