/** No question is asked twice: processes are killed while they ask, and the asks are repeated. */

import { expect, test } from "bun:test";
import { client, createPair } from "../support/client.ts";
import { newEra } from "../support/mcp.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const env = { RATE_LIMITS: "off", DATABASE_URL: (await createTestStore()).url };

test(
  "asks with a request_id that are repeated over killed processes make one question each [§5.7.2(6)]",
  seeded("killed asks", async (random) => {
    const apps: RelayProcess[] = [await startProcess(env), await startProcess(env)];
    const { person, agent } = await createPair(apps[0]!.url);
    const statuses: number[] = [];
    const ids = new Map<string, Set<string>>();
    let kills = 0;
    for (let round = 0; round < 4; round++) {
      const names = Array.from({ length: 6 }, (_, i) => `${round} ${i}`);
      const asking = names.flatMap((request_id) =>
        [0, 1].map(async (first) => {
          for (let attempt = first; ; attempt++) {
            const send = client(apps[attempt % 2]!.url, agent.secret);
            const answer = await send("POST /v1/questions", { prompt: "p", request_id }).catch(
              () => null,
            );
            if (answer === null || answer.status >= 500) {
              await Bun.sleep(5);
              continue;
            }
            statuses.push(answer.status);
            ids.set(request_id, (ids.get(request_id) ?? new Set()).add(answer.body.id));
            return;
          }
        }),
      );
      const victim = Math.floor(random() * 2);
      await Bun.sleep(random() * 8);
      apps[victim]!.kill("SIGKILL");
      kills++;
      apps[victim] = await startProcess(env);
      await Promise.all(asking);
      const { questions } = (await client(apps[0]!.url, person.token)("GET /v1/questions")).body;
      expect(questions.map(({ request_id }: any) => request_id).sort()).toEqual(names.sort());
      for (const { id } of questions) {
        await client(apps[1]!.url, agent.secret)(`DELETE /v1/questions/${id}`);
      }
    }
    expect(kills).toBe(4);
    expect([...ids.values()].map(({ size }) => size)).toEqual(Array(24).fill(1));
    expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
  }),
  120_000,
);

test("a question whose asking call was left is joined after its process was killed [§12.4.5]", async () => {
  const [one, two] = [await startProcess(env), await startProcess(env)];
  const { person, agent } = await createPair(one.url);
  const gone = new AbortController();
  const params = { name: "ask_question", arguments: { prompt: "Deploy?", wait_seconds: 50 } };
  const left = newEra(one.url, agent.secret)("tools/call", params, { signal: gone.signal });
  const pending = async (url: string): Promise<any[]> =>
    (await client(url, person.token)("GET /v1/questions")).body.questions;
  const [question] = await until(async () => {
    const questions = await pending(two.url);
    return questions.length > 0 && questions;
  });
  gone.abort();
  await left.catch(() => {});
  // The activity of the call is written after the mark: then the process may die.
  await until(async () => {
    const path = `GET /v1/keys/${agent.key.id}/activity` as const;
    const { items } = (await client(two.url, person.token)(path)).body;
    return items.some(({ action }: { action: string }) => action === "ask_question");
  });
  one.kill("SIGKILL");
  await one.exited;
  const soon = { ...params, arguments: { ...params.arguments, wait_seconds: 1 } };
  const { structuredContent } = (await newEra(two.url, agent.secret)("tools/call", soon)).body
    .result;
  expect([structuredContent.id, structuredContent.status]).toEqual([question.id, "pending"]);
  expect((await pending(two.url)).length).toBe(1);
}, 60_000);
