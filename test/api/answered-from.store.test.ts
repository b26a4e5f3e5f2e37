/** From which sign-in an answer came, as the account is told (§2.5.9). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, pair } from "../support/client.ts";
import { openStream } from "../support/stream.ts";

const app = await startTestApp();

test("the account reads from which sign-in an answer came, and whether by the page [§2.5.9]", async () => {
  const { person, agent } = await createPair(app.url);
  const phone = await pair(app.url, person, "Safari on iPhone");
  const stream = await openStream(app.url, person.token);
  const by_page = await ask(agent.send);
  const input = { question_id: by_page.id, answer: "Yes" };
  const sent = await phone.send("POST /trpc/questions.answer", input);
  expect(sent.status).toBe(200);
  const by_api = await ask(agent.send);
  const answered = await person.send(`POST /v1/questions/${by_api.id}/answer`, { answer: "No" });
  const read = async (send: typeof person.send, id: string) =>
    (await send(`GET /v1/questions/${id}`)).body.answered_from;
  const of_phone = { id: phone.session.id, label: "Safari on iPhone", current: false, api: false };
  expect(await read(person.send, by_page.id)).toEqual(of_phone);
  expect(await read(phone.send, by_page.id)).toEqual({ ...of_phone, current: true });
  const sessions = (await person.send("GET /v1/sessions")).body.sessions;
  const own = sessions.find(({ current }: { current: boolean }) => current);
  const of_own = { id: own.id, label: "Unnamed device", current: true, api: true };
  expect(await read(person.send, by_api.id)).toEqual(of_own);

  // Nobody else is told, and no other response has it.
  expect(await read(agent.send, by_page.id)).toBeUndefined();
  await stream.names(6);
  const { items } = (await agent.send("GET /v1/inbox")).body;
  const { questions } = (await person.send("GET /v1/questions?status=answered")).body;
  const elsewhere = [sent.body, answered.body, stream.events, items, questions];
  expect(items).toHaveLength(2);
  expect(questions).toHaveLength(2);
  expect(JSON.stringify(elsewhere)).not.toContain("answered_from");

  // Once the sign-in has ended, its label is not known.
  await phone.send(`DELETE /v1/sessions/${phone.session.id}`);
  expect(await read(person.send, by_page.id)).toEqual({ ...of_phone, label: null });
  stream.close();
});

test("a repeated answer gets the same response, which does not say where it came from [§2.5.9]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send);
  const send = () =>
    person.send(
      `POST /v1/questions/${id}/answer`,
      { answer: "Yes", note: "Now" },
      { headers: { "idempotency-key": "once" } },
    );
  const first = await send();
  expect(first.status).toBe(200);
  expect((await send()).body).toEqual(first.body);
});
