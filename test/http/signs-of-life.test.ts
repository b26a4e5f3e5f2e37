/** Signs of life while a request over REST waits (§6.7). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const asleep = (count: number) => until(() => app.waits.count() === count);

const wait = (secret: string, path: string, init: RequestInit = {}) =>
  fetch(app.url + path, {
    ...init,
    headers: {
      authorization: `Bearer ${secret}`,
      accept: "text/event-stream, application/json",
      "content-type": "application/json",
    },
  });

const lastData = (text: string): any => JSON.parse(/^data: (.+)$/m.exec(text)![1]!);

test("every wait of REST gives a client that accepts a stream a sign of life every 3 seconds, and ends with the answer [§6.7]", async () => {
  const { person, agent } = await createPair(app.url);
  const { body: asked } = await agent.send("POST /v1/questions", { prompt: "?" });
  const body = JSON.stringify({ prompt: "Deploy?" });
  const calls = [
    wait(agent.secret, `/v1/questions/${asked.id}?wait=50`),
    wait(agent.secret, "/v1/questions?wait=50", { method: "POST", body }),
    wait(agent.secret, "/v1/inbox?wait=50&peek=true"),
  ];
  const plain = agent.send(`GET /v1/questions/${asked.id}?wait=50`);
  await asleep(4);
  for (let i = 0; i < 2; i++) await clock.advance(3);
  const responses = await Promise.all(calls);
  for (const { status, headers } of responses) {
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  }
  for (const { id } of (await person.send("GET /v1/questions")).body.questions) {
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  }
  const texts = await Promise.all(responses.map((response) => response.text()));
  for (const text of texts) {
    expect(text).toStartWith(": ping\n\n: ping\n\nevent: message\ndata: {");
  }
  const { body: expected } = await plain;
  expect(lastData(texts[0]!)).toEqual(expected);
  expect(lastData(texts[1]!)).toMatchObject({ prompt: "Deploy?", answer: "Yes" });
  expect(lastData(texts[2]!).items.length).toBeGreaterThan(0);
});

test("an answer within 3 seconds, and a refusal, are as without a stream; a later error is a problem in it [§6.7]", async () => {
  const { person, agent } = await createPair(app.url);
  const { body: asked } = await agent.send("POST /v1/questions", { prompt: "?" });
  const short = wait(agent.secret, `/v1/questions/${asked.id}?wait=2`);
  await asleep(1);
  await clock.advance(2);
  expect((await short).headers.get("content-type")).toBe("application/json");
  expect((await wait(agent.secret, "/v1/questions/qst_none?wait=50")).status).toBe(404);
  expect((await wait(agent.secret, `/v1/questions/${asked.id}?wait=51`)).status).toBe(422);
  const long = wait(agent.secret, `/v1/questions/${asked.id}?wait=50`);
  await asleep(1);
  await clock.advance(3);
  const response = await long;
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  const text = await response.text();
  expect(text).toContain("event: problem\n");
  expect(lastData(text)).toMatchObject({ code: "unauthorized", status: 401 });
});

test("a client that leaves such a stream frees its place [§6.7] [§6.6]", async () => {
  const { agent } = await createPair(app.url);
  const gone = new AbortController();
  const call = wait(agent.secret, "/v1/inbox?wait=50", { signal: gone.signal });
  await asleep(1);
  await clock.advance(3);
  await call;
  gone.abort();
  await until(() => app.waits.owners() === 0);
});
