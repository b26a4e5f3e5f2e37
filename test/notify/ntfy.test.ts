/** What is published to ntfy, and what replaces it (§19.5). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson, createTask, type Person } from "../support/client.ts";
import { startNtfy } from "../support/ntfy.ts";
import { NTFY_ENV, startNtfyWorld } from "../support/ntfy-world.ts";
import { until } from "../support/until.ts";

const { clock, app, ntfy, rows, settled, begin, advance } = await startNtfyWorld();

/** Type, label, status and reason of the deliveries of a question. */
const deliveries = async ({ send }: Pick<Person, "send">, id: string) => {
  const { body } = await send(`GET /v1/questions/${id}/deliveries`);
  return body.deliveries.map(({ target, status, reason }: any) =>
    [target.type, target.label, status, reason].join(" ").trim(),
  );
};

const outcomes = async () =>
  (await app.services.deliveryFigures.read(1)).records.map(({ outcome, reason }) => [
    outcome,
    reason,
  ]);

test("a question and a task are published to ntfy with their text, priority and link [§19.5.1] [§19.5.2]", async () => {
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
  expect(ntfy.take()).toMatchObject([{ message: "40%\nbuilder", priority: 2 }]);
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

test("an ended question or task silently replaces its ntfy notification [§19.5.3]", async () => {
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

test("nothing is published about the end of a question that was never sent [§19.5.3]", async () => {
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
  expect(await rows("select * from deliveries")).toEqual([]);
});

test("a question that ends while its notification is being sent is ended afterwards [§19.5.3]", async () => {
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

test("an ntfy server before 2.16 keeps what it has shown [§19.5.3]", async () => {
  const old = await startNtfy({ replaces: false });
  const { person, agent } = await begin({}, old.url);
  // What it has not accepted so far shows nothing that could be replaced.
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
  expect(await rows("select * from deliveries")).toEqual([]);
});

test("deleting a key or account ends what ntfy shows and leaves nothing behind [§19.5.3]", async () => {
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
  for (const table of ["channels", "delivery_targets", "deliveries"]) {
    expect([table, await rows(`select * from ${table} where ${of}`)]).toEqual([table, []]);
  }
});

test("a deleted ntfy channel gets nothing more, and its target and queue are deleted [§19.2.4]", async () => {
  const { person, agent, id, topic: first } = await begin();
  const beside = { type: "ntfy", label: "Tablet", url: `${ntfy.url}/beside-${first}` };
  const { channel: other } = (await person.send("POST /v1/channels", beside)).body;
  ntfy.behave(503);
  await ask(agent.send);
  await settled();
  const of = `account_id = '${person.account.id}'`;
  const left = async () => [
    await rows(`select recipient_id from delivery_targets where ${of} order by 1`),
    await rows(`select recipient_id from deliveries where ${of} order by 1`),
  ];
  const both = [[id], [other.id]].sort();
  expect(await left()).toEqual([both, both]);
  expect((await person.send(`DELETE /v1/channels/${id}`)).status).toBe(204);
  expect(await left()).toEqual([[[other.id]], [[other.id]]]);
  ntfy.behave("ok");
  await advance(90);
  expect(ntfy.take().map(({ topic }) => topic)).toEqual([`beside-${first}`]);
});

test("quiet hours remove the sound, by the zone's clock at the attempt [§19.1.3]", async () => {
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

test("each attempt uses the settings that the channel has at that time [§19.1.2]", async () => {
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

test("a question has ntfy buttons where the topic is protected or the person allows it [§19.5.5] [§14.3.11]", async () => {
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
  // The app does what the button says.
  const [{ headers, body, method }] = actions;
  const origin = "https://ntfy.example";
  const pressed = await fetch(`${app.local_url}/v1/questions/${id}/answer`, {
    ...{ method, body, headers: { ...headers, origin } },
  });
  expect(pressed.status).toBe(200);
  expect(await pressed.json()).toMatchObject({ status: "answered", answer: "Yes" });
  // The topic already shows it.
  await settled();
  expect(ntfy.take()).toEqual([]);
  const labels = async (body: object, question: object = {}, server = ntfy) =>
    (await asked(body, question, server)).actions.map(({ label }) => label);
  const token = { token: "tk_secret" };
  expect(await labels(token, {}, guarded)).toEqual(["Yes", "No"]);
  expect(await labels({ ...token, buttons: false }, {}, guarded)).toEqual([]);
  const choice = (...options: string[]) => ({ kind: "choice", options });
  expect(await labels({ buttons: true }, choice("a", "Open", "c"))).toEqual([
    "“a”",
    "“Open”",
    "“c”",
  ]);
  expect(await labels({ buttons: true }, choice("a", "b", "c", "d"))).toEqual([]);
  expect(await labels({ buttons: true }, { kind: "text" })).toEqual([]);
  const long = await asked(
    { buttons: true },
    choice(...["a", "b", "c"].map((one) => "\u0001".repeat(79) + one)),
  );
  expect([long.actions, long.message]).toEqual([[], expect.stringContaining("Go?\n– ")]);
  expect([...ntfy.faults, ...guarded.faults]).toEqual([]);
});

test("generic content publishes no prompt, option, title or answer to ntfy [§19.5.2]", async () => {
  const generic = await startTestApp({ clock, env: { ...NTFY_ENV, PUSH_CONTENT: "generic" } });
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
