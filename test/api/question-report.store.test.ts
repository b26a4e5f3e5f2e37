/** What the administrator is told about the way of a question (§4.3.3), from what really happened. */

import { expect, test } from "bun:test";
import { noteFailedAttempt } from "../../db/question-report.ts";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { QuestionReport } from "../../src/model/question-report.ts";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startReceiver } from "../support/receiver.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange } from "../support/wire.ts";

const clock = createTestClock();
const receiver = startReceiver();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url, env: ADMIN, jitter: () => 0.999 });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const admin = adminClient(app.url);

async function begin() {
  const person = await createPerson(app.url);
  return { person, agent: await createAgent(app.url, person) };
}

let paths = 0;
async function addWebhook({ send }: Person, body: object = {}): Promise<string> {
  const path = `/secret-${++paths}`;
  const given = { type: "webhook", label: "secret", url: receiver.url(path), ...body };
  const { body: made } = await send("POST /v1/channels", given);
  receiver.expect(path, made.secret);
  await app.webhooks.settled();
  return made.channel.id;
}

/** The report, which has no content. */
async function reportOn(question_id: string): Promise<QuestionReport> {
  const report = await admin.question.query({ question_id });
  expect(QuestionReport.parse(report)).toEqual(report);
  expect(JSON.stringify(report)).not.toContain("secret");
  return report;
}
/** The first report that `is` true for, while time goes on. */
const reportOnce = async (id: string, is: (report: QuestionReport) => boolean) => {
  let report = await reportOn(id);
  await until(async () => {
    await clock.advance(1);
    await app.webhooks.settled();
    report = await reportOn(id);
    return is(report);
  });
  return report;
};
const textsOf = ({ history }: QuestionReport) => history.map(({ text }) => text);
const secret = { prompt: "secret", kind: "text", expires_in: 3_600 };

test("a question of an account without a channel reached nobody, and the report says so [§4.3.3]", async () => {
  const { person, agent } = await begin();
  const { id } = await ask(agent.send, secret);
  const first = await reportOn(id);
  expect(first.question).toMatchObject({
    ...{ id, account_id: person.account.id, key_id: agent.key.id, status: "pending" },
  });
  const none = "the account has no notification channel; no open page got it.";
  expect(first.conclusion).toBe(`It has reached nobody yet: ${none}`);
  // Nothing can ring again.
  expect(first.now).toEqual([]);
  await clock.skip(3_601);
  const { conclusion, history, now } = await reportOn(id);
  expect(conclusion).toBe(`It reached nobody: ${none}`);
  expect(history.map(({ text }) => text.replace(/until [^.]*\./, "until T."))).toEqual([
    `The agent ${agent.key.id} asked, until T. Nothing was to be sent.`,
    "It expired without an answer.",
  ]);
  expect(now).toEqual([]);
  // A channel that is added later does not change that.
  const later = await addWebhook(person);
  expect((await reportOn(id)).conclusion).toBe(
    `It reached nobody: the webhook channel ${later} was added later; no open page got it.`,
  );
  // What can ring does so again, unless the person does not want it.
  const closed = receiver.url("/topic").replace(/:\d+\//, ":9/");
  await person.send("POST /v1/channels", { type: "ntfy", label: "secret", url: closed });
  const { id: rings } = await ask(agent.send, secret);
  expect((await reportOn(rings)).now.join()).toContain("It rings again at ");
  await person.send("PATCH /v1/account", { settings: { nudges: false } });
  expect((await reportOn(rings)).now.join()).not.toContain("It rings again at ");
  for (const unknown of ["qst_0", ""]) {
    const refused = (await rejectionOf(admin.question.query({ question_id: unknown }))) as any;
    expect([unknown, refused.data.code_name]).toEqual([unknown, "not_found"]);
  }
  for (const credential of [person.token, agent.secret, undefined]) {
    const path = `/admin/trpc/question?input=${encodeURIComponent(JSON.stringify({ question_id: id }))}`;
    const { status } = await exchange(app.url, "GET", path, { credential });
    expect(status).toBe(401);
  }
});

test("each target is told with its failed attempts, and why it got nothing [§4.3.3]", async () => {
  const { person, agent } = await begin();
  receiver.behave(() => 200);
  const failing = await addWebhook(person);
  const unwanted = await addWebhook(person, { sends: ["tasks"] });
  receiver.behave(() => 500);
  const untested = await addWebhook(person);
  const { id } = await ask(agent.send, secret);
  const waiting = await reportOnce(id, ({ targets }) =>
    targets.some((one) => one.id === failing && one.failed_attempts.length > 1),
  );
  const target = (wanted: string) => waiting.targets.find((one) => one.id === wanted)!;
  expect(target(failing)).toMatchObject({ type: "webhook", status: "queued", sent_at: null });
  const reasons = target(failing).failed_attempts.map(({ reason }) => reason);
  expect(new Set(reasons)).toEqual(new Set(["status_500"]));
  expect(target(failing).next_attempt_at!).toBeGreaterThan(clock.now());
  expect(target(unwanted)).toMatchObject({ status: "suppressed", reason: "not_wanted" });
  expect(waiting.now).toContainEqual(
    `The webhook channel ${untested} waits: it has not accepted a test, after status_500.`,
  );
  const whys = [
    `the webhook channel ${failing} waits: `,
    `the webhook channel ${unwanted} got nothing: its settings leave questions out`,
    `the webhook channel ${untested} waits: it has not accepted a test`,
  ];
  for (const why of whys) expect(waiting.conclusion).toContain(why);
  expect(waiting.conclusion).toStartWith("It has reached nobody yet: ");

  // The receiver is back.
  receiver.behave(() => 200);
  const sent = await reportOnce(
    id,
    ({ targets }) => targets.filter((one) => one.status === "sent").length === 2,
  );
  expect(sent.conclusion).toBe(
    `It was sent to the webhook channel ${failing} and the webhook channel ${untested}, and not answered yet; nothing shows that it was seen.`,
  );
  const line = textsOf(sent).find((text) => text.startsWith(`The webhook channel ${failing}: `));
  expect(line?.replace(/ \d{4}-\S+?Z/g, "")).toBe(
    `The webhook channel ${failing}: planned; failed (status_500); last failed (status_500); accepted.`,
  );

  // The first attempt and the newest ones are kept.
  for (let at = 1; at <= 14; at++) {
    const row = { question_id: id, target_id: unwanted, at, reason: `r${at}` };
    await store.write([noteFailedAttempt(row)]);
  }
  const kept = (await reportOn(id)).targets.find((one) => one.id === unwanted)!.failed_attempts;
  expect(kept.map(({ at, reason }) => [at, reason])).toEqual(
    [1, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((at) => [at, `r${at}`]),
  );
});

test("what waits says what for, and what a channel that ended left says so [§4.3.3]", async () => {
  const { person, agent } = await begin();
  receiver.behave(() => 200);
  const webhook = await addWebhook(person);
  receiver.behave(() => new Response("", { status: 429, headers: { "retry-after": "600" } }));
  const { id: first } = await ask(agent.send, secret);
  await app.webhooks.settled();
  const { id } = await ask(agent.send, { ...secret, expires_in: 700 });
  await app.webhooks.settled();
  const name = `webhook channel ${webhook}`;
  const held = await reportOn(id);
  const next = held.targets[0]!.next_attempt_at!;
  expect(next - clock.now()).toBeGreaterThan(590);
  expect(held.now[0]).toBe(
    `The ${name} waits: the next attempt is at ${new Date(next * 1000).toISOString().slice(0, 19)}Z, after the service asked Relay to send less, status_429.`,
  );

  const answer = Promise.withResolvers<number>();
  let tried = 0;
  receiver.behave(() => {
    tried++;
    return answer.promise;
  });
  await clock.advance(600);
  await until(async () => {
    await clock.advance(1);
    return tried === 2;
  });
  expect((await reportOn(first)).now[0]).toStartWith(
    `The ${name} waits: an attempt is under way, after `,
  );
  answer.resolve(410);
  await app.webhooks.settled();
  const gone = await reportOn(id);
  expect(gone.targets[0]).toMatchObject({ state: "gone", sent_at: null });
  expect(gone.conclusion).toContain(`the ${name}`);
  expect(gone.conclusion).toContain("status_410");
  expect(gone.history.every(({ at }) => at <= clock.now())).toBe(true);
});

test("an open page, a receipt, the answer and the agent's read are in the report [§4.3.3]", async () => {
  const { person, agent } = await begin();
  const stream = await openStream(app.url, person.token);
  const { id } = await ask(agent.send, secret);
  await until(() => stream.events.some(({ event }) => event === "question.created"));
  await clock.advance(1);
  await app.openPages.settled();
  expect((await reportOn(id)).conclusion).toStartWith("It was sent to an open page, and not");
  await person.send(`POST /v1/questions/${id}/receipts`, { event: "shown" });
  expect((await reportOn(id)).conclusion).toBe(
    "It was seen on an open page, and not answered yet.",
  );
  await clock.advance(5);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "secret" });
  const unread = await reportOn(id);
  expect(unread.conclusion).toMatch(
    /^It was answered after \d s over REST by the sign-in ses_\w+, and the agent has not read the answer\.$/,
  );
  await agent.send(`GET /v1/questions/${id}`);
  await until(async () => (await reportOn(id)).conclusion.includes("has read the answer."));
  const told = textsOf(await reportOn(id));
  expect(told[1]).toMatch(/^An open page: written [\dTZ:-]+; seen [\dTZ:-]+\.$/);
  expect(told.at(-1)).toBe("The agent read the answer with the question.");
  stream.close();
  await admin.setBlocked.mutate({ account_id: person.account.id, blocked: true });
  expect((await reportOn(id)).now.join()).toContain("The account has been blocked since");
});
