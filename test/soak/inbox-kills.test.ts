/** No inbox item is lost: readers and servers are killed, and two processes share an inbox. */

import { afterAll, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { client, createPair } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const READER = fileURLToPath(new URL("../support/inbox-reader.ts", import.meta.url));
const env = { RATE_LIMITS: "off", DATABASE_URL: (await createTestStore()).url };

/** Starts a reader of the inbox that is killed once it has handled `count` items. */
async function readAndDie(url: string, secret: string, count: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, READER, url, secret], { stdout: "pipe" });
  afterAll(() => child.kill("SIGKILL"));
  const decoder = new TextDecoder();
  let out = "";
  for await (const chunk of child.stdout) {
    out += decoder.decode(chunk, { stream: true });
    if (out.split("\n").length > count) child.kill("SIGKILL");
  }
  // An incomplete last line was not handled.
  return out.split("\n").slice(0, -1);
}

test(
  "a reader that is killed at any point between read and ack loses no inbox item [§5.9.2]",
  seeded("killed readers", async (random) => {
    const app = await startProcess(env);
    const { person, agent } = await createPair(app.url);
    const key_id = agent.key.id;
    const sent = Array.from({ length: 80 }, (_, i) => `m${i}`);
    let writing = true;
    const write = async () => {
      for (const text of sent) await person.send("POST /v1/messages", { key_id, text });
      writing = false;
    };
    const written = write();
    const handled: string[] = [];
    let kills = 0;
    const missing = () => sent.filter((text) => !handled.includes(text)).length;
    for (; kills < 8 || writing; kills++) {
      const count = 1 + Math.floor(random() * Math.min(12, missing()));
      handled.push(...(await readAndDie(app.url, agent.secret, count)));
      if (missing() === 0) break;
    }
    await written;
    while (missing() > 0) handled.push(...(await readAndDie(app.url, agent.secret, 1)));
    expect(kills).toBeGreaterThan(3);
    expect(new Set(handled)).toEqual(new Set(sent));
    // The first time, the items came in order.
    expect([...new Set(handled)]).toEqual(sent);
  }),
  120_000,
);

test(
  "a server that is killed between read and ack loses no inbox item [§5.9.2]",
  seeded("killed servers", async (random) => {
    let app = await startProcess(env);
    const { person, agent } = await createPair(app.url);
    const key_id = agent.key.id;
    const sent: string[] = [];
    for (let i = 0; i < 25; i++) {
      const text = `m${i}`;
      await person.send("POST /v1/messages", { key_id, text });
      sent.push(text);
    }
    const handled: string[] = [];
    let ack = "";
    while (new Set(handled).size < sent.length) {
      const read = client(app.url, agent.secret)(`GET /v1/inbox?peek=true&limit=5${ack}`);
      const kill = random() < 0.4;
      if (kill) {
        await Bun.sleep(random() * 4);
        app.kill("SIGKILL");
      }
      const answer = await read.catch(() => null);
      for (const { id, text } of answer?.body.items ?? []) {
        handled.push(text);
        ack = `&ack=${id}`;
      }
      if (kill) app = await startProcess(env);
    }
    expect([...new Set(handled)]).toEqual(sent);
  }),
  120_000,
);

test("an inbox wait in one process ends when the item is created in the other [§5.9.2 wait]", async () => {
  const [one, two] = await Promise.all([startProcess(env), startProcess(env)]);
  const { person, agent } = await createPair(one.url);
  const key_id = agent.key.id;
  for (let i = 0; i < 20; i++) {
    const [here, there] = i % 2 === 0 ? [one, two] : [two, one];
    const waiting = client(here.url, agent.secret)("GET /v1/inbox?wait=50");
    const text = `m${i}`;
    await client(there.url, person.token)("POST /v1/messages", { key_id, text });
    const { body } = await waiting;
    expect([body.items.map((item: { text: string }) => item.text), body.unread]).toEqual([
      [text],
      0,
    ]);
  }
  // Readers without peek in both processes: each item reaches one of them.
  const sent = Array.from({ length: 60 }, (_, i) => `x${i}`);
  const got: string[] = [];
  const read = async (url: string) => {
    while (got.length < sent.length) {
      const { body } = await client(url, agent.secret)("GET /v1/inbox?limit=4");
      got.push(...body.items.map((item: { text: string }) => item.text));
    }
  };
  const readers = [one, two, one, two].map(({ url }) => read(url));
  for (const text of sent) await person.send("POST /v1/messages", { key_id, text });
  await Promise.all(readers);
  expect(got.toSorted()).toEqual(sent.toSorted());
  await until(async () => (await agent.send("GET /v1/inbox")).body.unread === 0);
}, 120_000);
