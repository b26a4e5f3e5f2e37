/** Two processes send what is due while one of them is killed in turn: nothing due is lost. */

import { afterAll, expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startApple } from "../support/apple.ts";
import { client, createAgent, createPerson, DEVICE } from "../support/client.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { newToken } from "../support/push-world.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const ROUNDS = 4;
/** The largest number of pushes in a round before the kill, at random, so that the kill comes anywhere. */
const PUSHES = 20;
const PHONES = 3;

test(
  `when processes are killed in mid-send, ${ROUNDS} rounds, every due push arrives and no start is doubled`,
  seeded("killed senders", async (random) => {
    const apple = await startApple({ delay: 25 });
    const { url: database_url } = await createTestStore();
    const env = { ...apple.env("SANDBOX"), DATABASE_URL: database_url, LOG_LEVEL: "debug" };
    const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
    afterAll(() => store.close());
    const count = async (table: string, where = "true") => {
      const query = statement(sql.raw(`select count(*) from ${table} where ${where}`), {
        returns: "rows",
      });
      return (await store.read(query({})))[0]![0] as number;
    };
    const pair = (await Promise.all([startProcess(env), startProcess(env)])) as RelayProcess[];
    const logs: (() => string)[] = pair.map(({ log }) => log);
    const person = await createPerson(pair[0]!.url);
    const phones: { id: string; token: string }[] = [];
    for (let i = 0; i < PHONES; i++) {
      const phone = { id: `dev_${crypto.randomUUID()}`, token: newToken() };
      phones.push(phone);
      const tokens = {
        apns_token: phone.token,
        push_to_start_token: newToken(),
        widget_push_token: newToken(),
      };
      await person.send(`PUT /v1/devices/${phone.id}`, { ...DEVICE, ...tokens });
    }

    const asked: string[] = [];
    const cleared: string[] = [];
    const tasks: string[] = [];
    const ended: string[] = [];
    let kills_in_send = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const doomed = round % 2;
      // A new agent, since an agent may have only 20 pending questions; its requests go to both processes.
      const agent = await createAgent(pair[1 - doomed]!.url, person, `agent ${round}`);
      const act = async ({ url }: RelayProcess) => {
        const [work, live] = [client(url, agent.secret), client(url, person.token)];
        const task = await work("POST /v1/tasks", { title: "SECRET task", status: "in_progress" });
        tasks.push(task.body.id);
        const question = await work("POST /v1/questions", { prompt: "SECRET prompt" });
        asked.push(question.body.id);
        const shown: string[] = [];
        for (const { id: device_id } of phones) {
          const push_token = newToken();
          await live(`PUT /v1/tasks/${task.body.id}/live-activity`, { device_id, push_token });
          shown.push(push_token);
        }
        await work(`PATCH /v1/tasks/${task.body.id}`, { status_note: "SECRET note" });
        const answer = { answer: "Yes" };
        const { status } = await live(`POST /v1/questions/${question.body.id}/answer`, answer);
        if (status === 200) {
          // If answered at once, its alert may have been obsolete.
          asked.splice(asked.indexOf(question.body.id), 1);
          cleared.push(question.body.id);
        }
        const last = await work("POST /v1/questions", { prompt: "SECRET prompt" });
        asked.push(last.body.id);
        const done = await work(`PATCH /v1/tasks/${task.body.id}`, { status: "done" });
        if (done.status === 200) ended.push(...shown);
      };
      const target = apple.delivered.length + Math.floor(random() * PUSHES);
      let acted = false;
      const acts = Promise.all(pair.map((relay) => act(relay).catch(() => {}))).then(() => {
        acted = true;
      });
      await until(() => acted || (apple.delivered.length >= target && apple.openStreams() > 0));
      if (apple.openStreams() > 0) kills_in_send++;
      pair[doomed]!.kill("SIGKILL");
      await Promise.all([acts, pair[doomed]!.exited]);
      pair[doomed] = await startProcess(env);
      logs.push(pair[doomed]!.log);
    }
    expect(kills_in_send).toBeGreaterThan(0);

    // The leases of the killed processes expire. A push that only says that something changed may take an hour.
    const waiting = () =>
      count("pushes", "kind not in ('silent', 'widget') or parts <> '[]' or lease is not null");
    const end = performance.now() + 90_000;
    while ((await waiting()) > 0 && performance.now() < end) await Bun.sleep(200);
    expect(await waiting()).toBe(0);

    const alerts = apple.delivered.filter(({ type }) => type === "alert");
    const has = (token: string, id: string) =>
      alerts.some((one) => one.token === token && one.collapse_id === id);
    const clears = apple.delivered.filter(({ payload }) => payload.relay.clear);
    for (const { token } of phones) {
      expect(asked.filter((id) => !has(token, id))).toEqual([]);
      expect(tasks.filter((id) => !has(token, id))).toEqual([]);
      const gone = clears
        .filter((one) => one.token === token)
        .flatMap(({ payload }) => payload.relay.clear);
      expect(cleared.filter((id) => !gone.includes(id))).toEqual([]);
    }
    const ends = apple.delivered.filter(({ payload }) => payload.aps.event === "end");
    expect(ended.filter((token) => !ends.some((one) => one.token === token))).toEqual([]);
    expect(
      [tasks.length, asked.length, cleared.length, ended.length].map((n) => n >= ROUNDS / 2),
    ).toEqual([true, true, true, true]);

    const starts = apple.delivered
      .filter(({ payload }) => payload.aps.event === "start")
      .map(({ token, payload }) => `${token} ${payload.relay.task_id}`);
    expect(new Set(starts).size).toBe(starts.length);
    expect(starts.length).toBeGreaterThan(tasks.length);
    // Repeated pushes are recognised by their apns-id.
    const ids = new Map<string, Set<string>>();
    for (const { token, collapse_id, apns_id, payload } of alerts) {
      if (!payload.relay.question_id) continue;
      const name = `${token} ${collapse_id}`;
      ids.set(name, (ids.get(name) ?? new Set()).add(apns_id));
    }
    expect([...ids.values()].filter((set) => set.size > 1)).toEqual([]);
    expect(apple.faults).toEqual([]);
    const log = logs.map((read) => read()).join("");
    expect(log).toContain("request");
    for (const secret of ["SECRET", ...phones.map(({ token }) => token)]) {
      expect(log).not.toContain(secret);
    }
  }),
  180_000,
);

test("a stop finishes the pushes under way, and leaves the rest to other processes", async () => {
  const apple = await startApple({ delay: 300 });
  const { url: database_url } = await createTestStore();
  const env = { ...apple.env("SANDBOX"), DATABASE_URL: database_url };
  const relay = await startProcess(env);
  const person = await createPerson(relay.url);
  for (let i = 0; i < 5; i++) {
    const body = { ...DEVICE, apns_token: newToken() };
    await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, body);
  }
  const agent = await createAgent(relay.url, person);
  await agent.send("POST /v1/questions", { prompt: "Go?" });
  relay.kill("SIGTERM");
  expect(await relay.exited).toBe(0);
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  afterAll(() => store.close());
  const leased = sql`select count(*) from deliveries where lease is not null`;
  expect(await store.read(statement(leased, { returns: "rows" })({}))).toEqual([[0]]);
  const alerts = () => apple.delivered.filter(({ type }) => type === "alert");

  // A push that never gets a response delays a stop for some seconds, and is put back all the same.
  apple.behave(() => ({ hang: true }));
  const stuck = await startProcess(env);
  const rows = sql`select count(*) from deliveries where lease is not null`;
  const leases = async () => (await store.read(statement(rows, { returns: "rows" })({})))[0]![0];
  const other = await createAgent(stuck.url, person);
  await other.send("POST /v1/questions", { prompt: "Stuck?" });
  await until(() => apple.openStreams() > 0);
  stuck.kill("SIGTERM");
  expect(await stuck.exited).toBe(0);
  expect(await leases()).toBe(0);
  apple.behave(() => undefined);
  const next = await startProcess(env);
  await until(() => alerts().length >= 10);
  const names = alerts().map(({ token, collapse_id }) => `${token} ${collapse_id}`);
  expect([names.length, new Set(names).size]).toEqual([10, 10]);
  next.kill();
}, 120_000);
