/** A crowd of connections takes every file descriptor that the process may open. */

import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ADMIN, ADMIN_TOKEN } from "../support/admin.ts";
import { startApple } from "../support/apple.ts";
import { client, createPair, DEVICE } from "../support/client.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { newToken } from "../support/push-world.ts";
import { connect, head, type RawConnection } from "../support/raw.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

/** Lets the process open 128 files, fewer than the connections that arrive. */
const LIMITED = ["sh", "-c", 'ulimit -n 128 && exec "$0" "$1"'];
const CROWD = 250;

const LINE = '"event":"out of file descriptors"';

let crowd: RawConnection[] = [];
const leave = () => {
  for (const connection of crowd) connection.end();
  crowd = [];
};
afterEach(leave);

/** Takes every descriptor with requests that start and stall; returns once the process notices. */
async function exhaust(relay: RelayProcess): Promise<void> {
  crowd = await Promise.all(Array.from({ length: CROWD }, () => connect(relay.url)));
  for (const connection of crowd) connection.write("GET /health HTTP/1.1\r\nHost: half");
  await until(() => relay.log().includes(LINE));
}

/** Sends over a connection that was opened before. */
function over(connection: RawConnection, credential: string) {
  return async (method: string, path: string, body = "") => {
    const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" };
    connection.write(head(method, path, headers, body) + body);
    return (await connection.answer(method))!;
  };
}

/** What the event loop's thread did so far: CPU time in ms, and how often it slept. */
function threadOf(pid: number): { readonly cpu: number; readonly sleeps: number } {
  const task = `/proc/${pid}/task/${pid}`;
  const fields = readFileSync(`${task}/stat`, "latin1").split(") ")[1]!.split(" ");
  const [, sleeps] = /^voluntary_ctxt_switches:\s+(\d+)/m.exec(
    readFileSync(`${task}/status`, "latin1"),
  )!;
  // The kernel counts hundredths of a second.
  return { cpu: (Number(fields[11]) + Number(fields[12])) * 10, sleeps: Number(sleeps) };
}

test("without free descriptors, a process serves open connections, does not spin, and recovers", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const relay = await startProcess({ ...ADMIN, DATABASE_URL }, LIMITED);
  const { agent } = await createPair(relay.url);
  const connection = await connect(relay.url);
  const send = over(connection, agent.secret);
  await send("GET", "/v1/agents");
  await exhaust(relay);

  const before = threadOf(relay.pid);
  for (let i = 0; i < 20; i++) {
    // A busy libSQL server may refuse one.
    const text = await until(async () => {
      const made = await send("POST", "/v1/tasks", '{"title":"In the crowd"}');
      return made.status === 201 ? made.text : null;
    });
    const { id } = JSON.parse(text);
    await until(async () => (await send("GET", `/v1/tasks/${id}`)).status === 200);
    // A client in no hurry: what the loop does meanwhile is not caused by it.
    const { sleeps } = threadOf(relay.pid);
    await until(() => threadOf(relay.pid).sleeps > sleeps + 20);
  }
  const after = threadOf(relay.pid);
  // A spinning loop sleeps only for its commits; its share of a core would depend on other programs.
  const cpu_between_sleeps = (after.cpu - before.cpu) / (after.sleeps - before.sleeps);
  expect(cpu_between_sleeps).toBeLessThan(2);

  const metrics = await over(connection, ADMIN_TOKEN)("GET", "/metrics");
  expect(metrics.text).toMatch(/^process_resident_memory_bytes \d+$/m);
  expect(metrics.text).toMatch(/^process_max_fds 128$/m);
  expect(metrics.text).toMatch(/^relay_descriptor_shortages_total 1$/m);

  leave();
  await until(async () => (await client(relay.url)("GET /health")).status === 200);
  expect(relay.log().split(LINE).length - 1).toBe(1);
});

test("a first push without a free descriptor does not end the process, and is sent later", async () => {
  const apple = await startApple();
  const { url: DATABASE_URL } = await createTestStore();
  const relay = await startProcess({ ...ADMIN, ...apple.env("SANDBOX"), DATABASE_URL }, LIMITED);
  const { person, agent } = await createPair(relay.url);
  const connection = await connect(relay.url);
  const [phone, work] = [over(connection, person.token), over(connection, agent.secret)];
  await work("GET", "/v1/agents");
  await exhaust(relay);

  const device = JSON.stringify({ ...DEVICE, apns_token: newToken() });
  expect((await phone("PUT", `/v1/devices/dev_${crypto.randomUUID()}`, device)).status).toBe(200);
  const asked = await work("POST", "/v1/questions", '{"prompt":"Go on?"}');
  expect(asked.status).toBe(201);
  const tried = /^relay_push_answers_total\{.*\} [1-9]/m;
  await until(async () =>
    tried.test((await over(connection, ADMIN_TOKEN)("GET", "/metrics")).text),
  );
  expect(apple.delivered).toEqual([]);
  leave();
  const { id } = JSON.parse(asked.text);
  await until(() => apple.delivered.some((push) => push.collapse_id === id));
});
