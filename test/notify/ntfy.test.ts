/** ntfy: what is published, what replaces it, and what an answer does (docs/interface.md 19.5). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/open.ts";
import { sql } from "../../db/sql.ts";
import { statement } from "../../db/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson, createTask, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy } from "../support/ntfy.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const env = { PUBLIC_URL: "https://relay.example/" };
const app = await startTestApp({ clock, database_url, jitter: () => 0.999, env });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const rows = (text: string) => store.read(statement(sql.raw(text), { gives: "rows" })({}));
const ntfy = await startNtfy();

let topics = 0;

async function begin(body: object = {}, server = ntfy.url) {
  const person = await createPerson(app.local_url);
  const agent = await createAgent(app.local_url, person, "builder");
  const topic = `topic-${++topics}`;
  const given = { type: "ntfy", label: "Phone", url: `${server}/${topic}`, ...body };
  const { status, body: made } = await person.send("POST /v1/channels", given);
  expect(status).toBe(201);
  const { id } = made.channel;
  const read = async () => (await person.send("GET /v1/channels")).body.channels[0];
  ntfy.take();
  return { person, agent, topic, id, made, read };
}

/** Moves time in steps, each until nothing is under way. */
async function advance(seconds: number, step = 1) {
  for (let left = seconds; left > 0; left -= step) {
    await app.sender.settled();
    await clock.advance(Math.min(step, left));
    await app.sender.settled();
    await app.jobs.settled();
  }
}

/** Type, label, status and reason of the deliveries of a question. */
const deliveries = async ({ send }: Pick<Person, "send">, id: string) => {
  const { body } = await send(`GET /v1/questions/${id}/deliveries`);
  return body.deliveries.map(({ target, status, reason }: any) =>
    [target.type, target.label, status, reason].join(" ").trim(),
  );
};

const settled = () => app.sender.settled();
const outcomes = async () =>
  (await app.services.pushStatus.read(1)).records.map(({ outcome, reason }) => [outcome, reason]);

test("a question and a task are published with their text, priority and link [§19.5.1] [§19.5.2]", async () => {
  const { person, agent, topic, made } = await begin();
  expect(made.secret).toBeUndefined();
  expect(made.channel).toMatchObject({ type: "ntfy", origin: ntfy.url, hint: topic.slice(-4) });
  const options = ["Now", "Later"];
  const question = await ask(agent.send, { prompt: "Publish?", kind: "choice", options });
  await settled();
  expect(ntfy.take()).toEqual([
    {
      topic,
      title: "Question from builder",
      message: "Publish?\n– Now\n– Later",
      priority: 5,
      click: `https://relay.example/#/questions/${question.id}`,
      sequence_id: question.id,
    },
  ]);
  expect(await deliveries(person, question.id)).toEqual(["ntfy Phone sent"]);
  const task = await createTask(agent.send, { title: "Ship", priority: "high" });
  await settled();
  expect(ntfy.take()).toEqual([
    {
      topic,
      title: "Ship",
      message: "New task\nbuilder",
      priority: 4,
      click: `https://relay.example/#/tasks/${task.id}`,
      sequence_id: task.id,
    },
  ]);
  await advance(11);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 40 });
  await settled();
  expect(ntfy.take()).toMatchObject([{ message: "40 %\nbuilder", priority: 2 }]);
  await createTask(agent.send, { title: "quiet", notify: false });
  await settled();
  expect(ntfy.take()).toEqual([]);
  expect(ntfy.faults).toEqual([]);
});

test("the longest texts are cut to the limits of ntfy [§19.5.2]", async () => {
  const { agent } = await begin();
  for (const letter of ["語", '"', "\n", "👩‍👩‍👧"]) {
    const prompt = `x${[...letter.repeat(1_999)].slice(0, 1_999).join("")}`;
    await ask(agent.send, { prompt, kind: "text" });
  }
  await settled();
  const got = ntfy.take();
  expect(got.length).toBe(4);
  expect(got.some(({ message }) => message!.endsWith("…"))).toBe(true);
  expect(ntfy.faults).toEqual([]);
});

test("what ended takes the place of its notification, without a sound [§19.5.3]", async () => {
  const { person, agent, topic } = await begin();
  const first = await ask(agent.send, { prompt: "One?" });
  const second = await ask(agent.send, { prompt: "Two?" });
  const third = await ask(agent.send, { prompt: "Three?", expires_in: 60 });
  const task = await createTask(agent.send, { title: "Ship" });
  await settled();
  expect(ntfy.take().length).toBe(4);
  await person.send(`POST /v1/questions/${first.id}/answer`, { answer: "Yes" });
  await agent.send(`DELETE /v1/questions/${second.id}`);
  await settled();
  const title = "Question from builder";
  expect(ntfy.take()).toEqual([
    { topic, title, message: "Answered: Yes", priority: 2, sequence_id: first.id },
    { topic, title, message: "Cancelled", priority: 2, sequence_id: second.id },
  ]);
  expect(await deliveries(person, first.id)).toEqual(["ntfy Phone sent"]);
  await advance(70, 5);
  expect(ntfy.take()).toEqual([
    { topic, title, message: "Expired", priority: 2, sequence_id: third.id },
  ]);
  const asked = await ask(agent.send, { prompt: "Of the task?", task_id: task.id });
  await settled();
  ntfy.take();
  await person.send(`DELETE /v1/tasks/${task.id}`);
  await settled();
  const ended = ntfy.take().map(({ message, sequence_id }) => `${sequence_id} ${message}`);
  expect(ended.sort()).toEqual([`${asked.id} Cancelled`, `${task.id} Deleted`].sort());
});

test("nothing tells of the end of what was never sent [§19.5.3]", async () => {
  const { person, agent, id } = await begin();
  await ask(agent.send, { prompt: "known" });
  await settled();
  await person.send(`PATCH /v1/channels/${id}`, { sends: ["tasks"], label: "Watch" });
  ntfy.take();
  const { id: question } = await ask(agent.send, { prompt: "left out" });
  await settled();
  expect(await deliveries(person, question)).toEqual(["ntfy Watch suppressed not_wanted"]);
  await person.send(`POST /v1/questions/${question}/answer`, { answer: "Yes" });
  await settled();
  expect(ntfy.take()).toEqual([]);
  expect(await rows("select * from pushes")).toEqual([]);
});

test("a question that ends while its notification is under way is ended afterwards [§19.5.3]", async () => {
  const { person, agent } = await begin();
  await ask(agent.send, { prompt: "known" });
  await settled();
  ntfy.take();
  ntfy.behave("hang");
  const { id } = await ask(agent.send, { prompt: "late" });
  await until(() => ntfy.open() === 1);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
  ntfy.behave("ok");
  await clock.advance(5);
  // As long as the host may count as busy after the request that it did not answer.
  await advance(15);
  expect(ntfy.take()).toMatchObject([{ sequence_id: id, message: "Answered: No", priority: 2 }]);
  // Its end was accepted, and the question itself may not have arrived.
  expect(await deliveries(person, id)).toEqual(["ntfy Phone failed question_ended"]);
});

test("a server before 2.16 keeps what it has shown [§19.5.3]", async () => {
  const old = await startNtfy({ replaces: false });
  const { person, agent } = await begin({}, old.url);
  // What it has not taken so far shows nothing that could be replaced.
  old.behave(503);
  const untaken = await ask(agent.send, { prompt: "first" });
  await settled();
  await person.send(`POST /v1/questions/${untaken.id}/answer`, { answer: "Yes" });
  old.behave("ok");
  await advance(10);
  expect(old.published).toEqual([]);
  const { id } = await ask(agent.send);
  await settled();
  expect(old.take().length).toBe(1);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await advance(5);
  expect(old.published).toEqual([]);
  expect(await rows("select * from pushes")).toEqual([]);
});

test("a deleted key or account ends what is shown, and leaves nothing behind [§19.5.3]", async () => {
  const { person, agent, topic } = await begin();
  const { id: task } = await createTask(agent.send, { title: "Ship" });
  const { id: question } = await ask(agent.send);
  await settled();
  ntfy.take();
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await advance(5);
  const ends = () => ntfy.take().map((one) => `${one.topic} ${one.sequence_id} ${one.message}`);
  const both = [`${topic} ${question} Cancelled`, `${topic} ${task} Deleted`].sort();
  expect(ends().sort()).toEqual(both);

  const other = await createAgent(app.local_url, person, "other");
  const last = await ask(other.send, { prompt: "Last?" });
  await settled();
  ntfy.take();
  await person.send("DELETE /v1/account");
  await advance(20);
  expect(ends()).toEqual([`${topic} ${last.id} Cancelled`]);
  const of = `account_id = '${person.account.id}'`;
  for (const table of ["channels", "push_targets", "pushes"]) {
    expect([table, await rows(`select * from ${table} where ${of}`)]).toEqual([table, []]);
  }
});

test("a deleted channel gets nothing more, and neither its target nor its queue stays [§19.2.4]", async () => {
  const { person, agent, id } = await begin();
  const beside = { type: "ntfy", label: "Tablet", url: `${ntfy.url}/beside-${topics}` };
  const { channel: other } = (await person.send("POST /v1/channels", beside)).body;
  ntfy.behave(503);
  await ask(agent.send);
  await settled();
  const of = `account_id = '${person.account.id}'`;
  const left = async () => [
    await rows(`select recipient_id from push_targets where ${of} order by 1`),
    await rows(`select device_id from pushes where ${of} order by 1`),
  ];
  const both = [[id], [other.id]].sort();
  expect(await left()).toEqual([both, both]);
  expect((await person.send(`DELETE /v1/channels/${id}`)).status).toBe(204);
  expect(await left()).toEqual([[[other.id]], [[other.id]]]);
  ntfy.behave("ok");
  await advance(90);
  expect(ntfy.take().map(({ topic }) => topic)).toEqual([`beside-${topics}`]);
});

test("quiet hours take the sound away, as the clock of the zone says at the attempt [§19.1.3]", async () => {
  const hour = (offset: number) => {
    const at = new Date((clock.now() + offset * 3_600) * 1000);
    return `${String(at.getUTCHours()).padStart(2, "0")}:00`;
  };
  const quiet_hours = { from: hour(0), to: hour(2), time_zone: "Etc/UTC" };
  const { agent, person, id } = await begin({ quiet_hours });
  await ask(agent.send);
  await settled();
  expect(ntfy.take()).toMatchObject([{ priority: 2 }]);
  expect(await outcomes()).toEqual([["sent", "quiet_hours"]]);
  await person.send(`PATCH /v1/channels/${id}`, { quiet_hours: null });
  await ask(agent.send);
  await settled();
  expect(ntfy.take()).toMatchObject([{ priority: 5 }]);
  expect(await outcomes()).toEqual([["sent", null]]);
});

test("the settings of the channel are those of the attempt [§19.1.2]", async () => {
  const { agent, person, id } = await begin({ min_priority: "high" });
  await createTask(agent.send, { title: "low", priority: "low" });
  await settled();
  expect(await outcomes()).toEqual([["pointless", "not_wanted"]]);
  ntfy.behave(503);
  await createTask(agent.send, { title: "high", priority: "high" });
  await settled();
  await person.send(`PATCH /v1/channels/${id}`, { min_priority: "urgent" });
  ntfy.behave("ok");
  await advance(30);
  expect(ntfy.take()).toEqual([]);
  await createTask(agent.send, { title: "urgent", priority: "urgent" });
  await settled();
  expect(ntfy.take().map(({ title }) => title)).toEqual(["urgent"]);
});

test("a token opens a protected topic, and a refusal shows on the channel [§19.5.1] [§19.5.4]", async () => {
  const guarded = await startNtfy({ token: "tk_secret" });
  const { agent, person, read } = await begin({ token: "tk_wrong" }, guarded.url);
  await ask(agent.send);
  await settled();
  expect(await read()).toMatchObject({ state: "failing", last_error: { code: "status_403" } });
  const right = await begin({ token: "tk_secret" }, guarded.url);
  const sent = await right.person.send(`POST /v1/channels/${right.id}/test`);
  expect(sent.body).toMatchObject({ status: "sent", target: { type: "ntfy", label: "Phone" } });
  await ask(right.agent.send);
  await settled();
  expect(guarded.take().map(({ title }) => title)).toEqual(["Relay", "Question from builder"]);
  expect(await right.read()).toMatchObject({ state: "ok", last_sent_at: clock.now() });
  const told = JSON.stringify((await person.send("GET /v1/channels")).body) + app.lines.join();
  for (const secret of ["tk_wrong", "tk_secret"]) expect(told).not.toContain(secret);
});

test("three failures in a row make it failing, and a success ends that [§19.1.5]", async () => {
  const { agent, read } = await begin();
  ntfy.behave(500);
  await ask(agent.send, { prompt: "Go?", expires_in: 86_400 });
  await settled();
  expect((await read()).state).toBe("ok");
  await advance(30);
  expect(await read()).toMatchObject({ state: "failing", last_error: { code: "status_500" } });
  ntfy.behave("ok");
  await advance(300, 5);
  expect(ntfy.take().length).toBe(1);
  expect((await read()).state).toBe("ok");
});

test("a topic that is gone is used again once a test has succeeded [§19.5.4] [§19.2.5]", async () => {
  const { agent, person, id, read } = await begin();
  ntfy.behave(410);
  await ask(agent.send);
  await settled();
  expect((await read()).state).toBe("gone");
  ntfy.behave("ok");
  await ask(agent.send);
  await advance(5);
  expect(ntfy.take()).toEqual([]);
  expect((await person.send(`POST /v1/channels/${id}/test`)).body.status).toBe("sent");
  await ask(agent.send);
  await settled();
  expect(ntfy.take().map(({ title }) => title)).toEqual(["Relay", "Question from builder"]);
});

test("a host that hangs holds up nobody, and is then tried by one request at a time [§19.5.4]", async () => {
  const slow = await startNtfy();
  slow.behave("hang");
  const stuck = [];
  for (let i = 0; i < 3; i++) stuck.push(await begin({}, slow.urlAt("127.0.0.9")));
  for (const { agent } of stuck) {
    for (let i = 0; i < 4; i++) await ask(agent.send, { prompt: `q${i}`, expires_in: 86_400 });
  }
  await until(() => slow.open() === 4);
  const quick = await begin();
  await ask(quick.agent.send);
  await until(() => ntfy.published.length === 1);
  expect(slow.open()).toBe(4);
  // All four are given up after 5 seconds; then there is one at a time.
  await clock.advance(5);
  await until(() => slow.open() === 0);
  for (let probe = 0; probe < 3; probe++) {
    const before = slow.received();
    await until(async () => {
      await clock.advance(0.25);
      return slow.received() > before;
    });
    // Others of the same turn would be here by now.
    for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
    expect(slow.open()).toBeLessThanOrEqual(1);
    await clock.advance(5);
    await until(() => slow.open() === 0);
  }
  slow.behave("ok");
  await advance(400, 5);
  expect(slow.published.length).toBe(12);
});

test("a question has buttons where the topic is protected, or the person says so [§19.5.5]", async () => {
  const guarded = await startNtfy({ token: "tk_secret" });
  const asked = async (body: object, question: object = {}, server = ntfy) => {
    const { agent } = await begin(body, server.url);
    const { id } = await ask(agent.send, { prompt: "Go?", ...question });
    await settled();
    const [published] = server.take();
    return { id, message: published!.message, actions: (published!.actions ?? []) as any[] };
  };
  expect((await asked({})).actions).toEqual([]);
  const { id, actions } = await asked({ buttons: true });
  const button = (label: string) => ({
    action: "http",
    label,
    url: `https://relay.example/v1/questions/${id}/answer`,
    method: "POST",
    headers: {
      Authorization: expect.stringMatching(/^Bearer mcq_[\w-]{86}$/),
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ answer: label }),
    clear: true,
  });
  expect(actions).toEqual([button("Yes"), button("No")]);
  // The app does with it what it says.
  const [{ headers, body, method }] = actions;
  const origin = "https://ntfy.example";
  const pressed = await fetch(`${app.local_url}/v1/questions/${id}/answer`, {
    ...{ method, body, headers: { ...headers, origin } },
  });
  expect(pressed.status).toBe(200);
  expect(await pressed.json()).toMatchObject({ status: "answered", answer: "Yes" });
  // The topic shows it already.
  await settled();
  expect(ntfy.take()).toEqual([]);
  const labels = async (body: object, question: object = {}, server = ntfy) =>
    (await asked(body, question, server)).actions.map(({ label }) => label);
  const token = { token: "tk_secret" };
  expect(await labels(token, {}, guarded)).toEqual(["Yes", "No"]);
  expect(await labels({ ...token, buttons: false }, {}, guarded)).toEqual([]);
  const choice = (...options: string[]) => ({ kind: "choice", options });
  expect(await labels({ buttons: true }, choice("a", "b", "c"))).toEqual(["a", "b", "c"]);
  expect(await labels({ buttons: true }, choice("a", "b", "c", "d"))).toEqual([]);
  expect(await labels({ buttons: true }, { kind: "text" })).toEqual([]);
  const long = await asked(
    { buttons: true },
    choice(...["a", "b", "c"].map((one) => "\u0001".repeat(79) + one)),
  );
  expect([long.actions, long.message]).toEqual([[], expect.stringContaining("Go?\n– ")]);
  expect([...ntfy.faults, ...guarded.faults]).toEqual([]);
});

test("what cannot be a topic or a token is refused [§19.5.1]", async () => {
  const { person } = await begin();
  const refused = async (body: object) => {
    const given = { type: "ntfy", label: "x", url: `${ntfy.url}/t`, ...body };
    const { status, body: problem } = await person.send("POST /v1/channels", given);
    return [status, Object.keys(problem.fields ?? {})];
  };
  for (const path of ["", "/", "/a/b", "/a.b", `/${"x".repeat(65)}`, "/a?b=1"]) {
    expect([path, ...(await refused({ url: ntfy.url + path }))]).toEqual([path, 422, ["url"]]);
  }
  for (const token of ["", "a b", "é", "x".repeat(201)]) {
    expect(await refused({ token })).toEqual([422, ["token"]]);
  }
  expect(await refused({ type: "webhook", token: "tk_x" })).toEqual([422, ["token"]]);
  expect(await refused({ type: "webhook", buttons: true })).toEqual([422, ["buttons"]]);
});

test("with generic content no prompt, option, title or answer is published [§19.5.2]", async () => {
  const generic = await startTestApp({ clock, env: { ...env, PUSH_CONTENT: "generic" } });
  const person = await createPerson(generic.local_url);
  const agent = await createAgent(generic.local_url, person, "builder");
  const url = `${ntfy.url}/generic`;
  await person.send("POST /v1/channels", { type: "ntfy", label: "Phone", url });
  ntfy.take();
  const options = ["SECRET a", "SECRET b"];
  const { id } = await ask(agent.send, { prompt: "SECRET?", kind: "choice", options });
  await createTask(agent.send, { title: "SECRET", description: "SECRET" });
  await generic.sender.settled();
  await person.send(`POST /v1/questions/${id}/answer`, { answer: options[0] });
  await generic.sender.settled();
  const got = ntfy.take();
  expect(got.map(({ message }) => message)).toEqual([
    "A question is waiting",
    "New task\nbuilder",
    "Answered",
  ]);
  expect(JSON.stringify(got)).not.toContain("SECRET");
});
