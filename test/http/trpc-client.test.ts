/** The official tRPC client on the same procedures, typed by `AppRouter`. */

import { expect, test } from "bun:test";
import { createTRPCClient, httpBatchLink, TRPCClientError } from "@trpc/client";
import type { AppRouter } from "../../routers/index.ts";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { until } from "../support/until.ts";
import { exchange } from "../support/wire.ts";

const app = await startTestApp();
const connect = (credential: string) =>
  createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${app.url}/trpc`,
        headers: { authorization: `Bearer ${credential}` },
      }),
    ],
  });

test("a person and an agent work through the official tRPC client [§13.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const theirs = connect(person.token);
  const ours = connect(agent.secret);
  const task = await ours.tasks.create.mutate({ title: "t", notify: false });
  expect(task.key_id).toBe(agent.key.id);
  const changed = await ours.tasks.update.mutate({ task_id: task.id, progress: 5 });
  expect(changed).toEqual({ ...task, progress: 5, updated_at: changed.updated_at });
  const list = await theirs.tasks.list.query({ status: ["todo"], limit: 5 });
  expect(list).toEqual({ tasks: [changed], next_cursor: null });

  const asked = ours.questions.ask.mutate({ prompt: "p", wait: 50 });
  const [question] = await until(async () => {
    const { questions } = await theirs.questions.list.query({});
    return questions.length > 0 && questions;
  });
  await theirs.questions.answer.mutate({ question_id: question!.id, answer: "Yes" });
  expect((await asked).answer).toBe("Yes");
});

test("each call of a batch succeeds or fails by itself", async () => {
  const { person, agent } = await createPair(app.url);
  const ours = connect(agent.secret);
  const [made, missing, forbidden] = await Promise.allSettled([
    ours.tasks.create.mutate({ title: "t" }),
    ours.tasks.update.mutate({ task_id: "tsk_x", progress: 5 }),
    ours.keys.create.mutate({ label: "l" }),
  ]);
  expect(made.status).toBe("fulfilled");
  const codes = [missing, forbidden].map((result) => {
    const { reason } = result as PromiseRejectedResult;
    expect(reason).toBeInstanceOf(TRPCClientError);
    return [reason.data.httpStatus, reason.data.code_name];
  });
  expect(codes).toEqual([
    [404, "not_found"],
    [403, "forbidden"],
  ]);
  expect((await connect(person.token).keys.list.query({})).keys.length).toBe(1);
});

test("a tRPC query may leave out its input, and a mutation may not", async () => {
  const { person, agent } = await createPair(app.url);
  const send = (method: string, path: string, credential: string) =>
    exchange(app.url, method, `/trpc/${path}`, { credential });
  const keys = await send("GET", "keys.list", person.token);
  expect(keys.body.result.data.keys.map(({ id }: { id: string }) => id)).toEqual([agent.key.id]);
  const batch = await send("GET", "tasks.list,agents.list?batch=1", agent.secret);
  expect(batch.body.map((call: any) => Object.keys(call.result.data)[0])).toEqual([
    "tasks",
    "agents",
  ]);
  const missing = await send("GET", "tasks.get", agent.secret);
  expect(Object.keys(missing.body.error.data.fields)).toEqual(["task_id"]);
  expect((await send("POST", "tasks.create", agent.secret)).status).toBeGreaterThanOrEqual(400);
});
