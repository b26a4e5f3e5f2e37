/** Every POST is repeated through a proxy that cuts connections, while servers are killed. */

import { expect, test } from "bun:test";
import { startChaosProxy } from "../support/chaos-proxy.ts";
import { client, createAgent, createPair } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";

const CLIENTS = 6;
const ROUNDS = 6;
/** Responses between two kills. */
const KILL_EVERY = 24;

test(
  "with an Idempotency-Key and repeated until answered, each resource is created exactly once",
  seeded("chaos", async (random) => {
    const env = { RATE_LIMITS: "off", DATABASE_URL: (await createTestStore()).url };
    const apps = await Promise.all([startProcess(env), startProcess(env)]);
    const { person, agent } = await createPair(apps[0]!.url);
    const other = await createAgent(apps[0]!.url, person, "other");
    const proxy = await startChaosProxy(() => apps[Math.floor(random() * 2)]!.url, random);

    let kills = 0;
    let acks = 0;
    let restarting = Promise.resolve();
    /** Kills one of the two after this many responses; the other one continues. */
    const restart = async () => {
      const victim = kills++ % 2;
      apps[victim]!.kill("SIGKILL");
      apps[victim] = await startProcess(env);
    };

    /** Sends until there is a response; returns its body. */
    const insist = async (path: `/${string}`, secret: string, body: object): Promise<any> => {
      const key = crypto.randomUUID();
      for (;;) {
        const sent = client(proxy.url, secret)(`POST ${path}`, body, {
          headers: { "idempotency-key": key, connection: "close" },
        });
        // The connection was cut: the change may have happened or not.
        const answer = await sent.catch(() => null);
        if (answer === null || answer.status === 503) {
          await Bun.sleep(5);
          continue;
        }
        const right = path.endsWith("/answer") ? 200 : 201;
        expect([path, answer.status, answer.body.code]).toEqual([path, right, undefined]);
        if (++acks % KILL_EVERY === 0) restarting = restarting.then(restart);
        return answer.body;
      }
    };

    const made = { tasks: [] as string[], questions: [] as string[], messages: [] as string[] };
    const answers = new Map<string, string>();
    const work = async (name: number) => {
      for (let i = 0; i < ROUNDS; i++) {
        const mark = `${name} ${i}`;
        made.tasks.push((await insist("/v1/tasks", agent.secret, { title: mark })).id);
        const question = { prompt: mark, kind: "text" };
        const { id } = await insist("/v1/questions", agent.secret, question);
        made.questions.push(id);
        await insist(`/v1/questions/${id}/answer`, person.token, { answer: mark });
        answers.set(id, mark);
        const message = { key_id: other.key.id, text: mark };
        made.messages.push((await insist("/v1/messages", person.token, message)).id);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, name) => work(name)));
    await restarting;

    const { url } = apps[0]!;
    const send = client(url, agent.secret);
    const { tasks } = (await send("GET /v1/tasks?limit=500")).body;
    const { questions } = (
      await send("GET /v1/questions?status=pending,answered,expired,cancelled")
    ).body;
    const inbox = (await send("GET /v1/inbox?limit=100")).body;
    const messages = (await client(url, other.secret)("GET /v1/inbox?limit=100")).body;
    const ids = (list: { id: string }[]) => list.map(({ id }) => id).toSorted();
    const all = CLIENTS * ROUNDS;
    expect(ids(tasks)).toEqual(made.tasks.toSorted());
    expect(ids(questions)).toEqual(made.questions.toSorted());
    expect(ids(messages.items)).toEqual(made.messages.toSorted());
    expect(new Set(tasks.map(({ title }: { title: string }) => title)).size).toBe(all);
    for (const { id, answer } of questions) expect(answer).toBe(answers.get(id));
    // One inbox item for each answer.
    expect(inbox.items).toHaveLength(all);
    expect([kills, proxy.cuts() > 10]).toEqual([(4 * all) / KILL_EVERY, true]);
  }),
  120_000,
);
