/** Permission prompts beyond the pending questions of a key wait in line (§12.6.7). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { answer, callHook, commandOf, list, pending } from "../support/approve.ts";
import { createPair } from "../support/client.ts";
import { createTestClock, whileMoving } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });
const APPS = [app, there];
const waiting = () => APPS.reduce((sum, { waits }) => sum + waits.count(), 0);
const asleep = (count: number) => until(() => waiting() === count);

/** The subagents of one session, in both processes, each of which asks for another command. */
async function fleet(count: number, query = "&wait=600") {
  const pair = await createPair(app.url);
  const hooks: Awaited<ReturnType<typeof callHook>>[] = [];
  for (let i = 0; i < count; i++) {
    const args = commandOf(`make ${i}`, { agent_id: `a${i}`, client: "claude_code" });
    hooks.push(await callHook(APPS[i % 2]!.url, pair.agent.secret, args, { query }));
    await asleep(i + 1);
  }
  return { pair, hooks };
}

test("of thirty requests ten wait in line, in any process, and all are asked and allowed [§12.6.7]", async () => {
  const { pair, hooks } = await fleet(30);
  const seen = new Set<string>();
  expect((await pending(pair, 20)).length).toBe(20);
  // The main agent's own question is refused meanwhile, with advice.
  const refused = await pair.agent.send("POST /v1/questions", { prompt: "Main?" });
  expect(refused).toMatchObject({ status: 409, body: { code: "too_many_pending_questions" } });
  expect(refused.body.detail).toContain("20");
  while (seen.size < 30) {
    const [next] = await whileMoving(
      clock,
      until(async () => {
        const found = (await list(pair)).filter(({ id }: any) => !seen.has(id));
        return found.length > 0 && found;
      }),
    );
    seen.add(next.id);
    await answer(pair, next.id, { answer: "Allow" });
  }
  const texts = await whileMoving(clock, Promise.all(hooks.map(({ text }) => text)));
  expect(texts.filter((text) => text.includes('"allow"')).length).toBe(30);
  expect((await list(pair, "answered")).length).toBe(30);
});

test("a hook that is killed, and a session that ends, leave the line [§12.6.7] [§12.6.6]", async () => {
  const { pair, hooks } = await fleet(22);
  await pending(pair, 20);
  hooks[20]!.leave();
  await asleep(21);
  const end = { event: "Stop", session_id: "session-1", agent_id: "a21", client: "claude_code" };
  await (await callHook(there.url, pair.agent.secret, end)).text;
  expect(await hooks[21]!.text).toBe("");
  await asleep(20);
  const [first] = await list(pair);
  await answer(pair, first.id, { answer: "Deny" });
  // The other process hears of an answer when its feed reads next.
  await whileMoving(clock, asleep(19));
  expect((await list(pair)).length).toBe(19);
  for (const { id } of await list(pair)) await answer(pair, id, { answer: "Deny" });
  await whileMoving(clock, Promise.all(hooks.slice(0, 20).map(({ text }) => text)));
});

test("the time in line counts, and a request that was never asked is among the person's expired questions [§12.6.7]", async () => {
  const { pair, hooks } = await fleet(20);
  await clock.advance(300);
  await asleep(20);
  const args = commandOf("make late", { agent_id: "late", client: "claude_code" });
  const query = "&wait=100";
  const late = await callHook(app.url, pair.agent.secret, args, { query });
  await asleep(21);
  await clock.advance(100);
  expect(await late.text).toBe("");
  const told = await list(pair, "expired");
  expect(told.map(({ action }: any) => action.agent)).toEqual(["late"]);
  expect(told[0].expires_at).toBe(told[0].created_at);
  const next = commandOf("make next", { agent_id: "next", client: "claude_code" });
  const in_line = await callHook(app.url, pair.agent.secret, next, { query: "&wait=100" });
  await asleep(21);
  await clock.advance(40);
  const [one] = await list(pair);
  await answer(pair, one.id, { answer: "Allow" });
  const asked = await until(async () =>
    (await list(pair)).find(({ action }: any) => action.agent === "next"),
  );
  expect(asked.expires_at - clock.now()).toBeLessThanOrEqual(60);
  await answer(pair, asked.id, { answer: "Allow" });
  expect(await in_line.text).toContain("allow");
  for (const { id } of await list(pair)) await answer(pair, id, { answer: "Deny" });
  await whileMoving(clock, Promise.all(hooks.map(({ text }) => text)));
});

test("a request beyond the 32 that may wait is told to the person too [§12.6.7]", async () => {
  const pair = await createPair(app.url);
  const ask = (name: string) => {
    const args = commandOf(`make ${name}`, { agent_id: name, client: "claude_code" });
    return callHook(app.url, pair.agent.secret, args, { query: "&wait=600" });
  };
  const hooks: Awaited<ReturnType<typeof callHook>>[] = [];
  for (let i = 0; i < 32; i++) {
    hooks.push(await ask(`a${i}`));
    await asleep(i + 1);
  }
  expect(await (await ask("over")).text).toBe("");
  const [told, ...more] = await list(pair, "expired");
  expect([told.action.agent, told.expires_at, more]).toEqual(["over", told.created_at, []]);
  for (const { leave } of hooks) leave();
  await asleep(0);
});
