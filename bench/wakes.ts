/** Questions that an agent waits for and the person answers: how long after the answer the agent wakes. */

import { connect, type RawConnection } from "../test/support/raw.ts";
import { post, times } from "./process.ts";
import { within } from "./within.ts";

/** Agents, each with its own account. */
const AGENTS = 4;
/** Milliseconds until a wait that was sent has gone to sleep. */
const ASLEEP = 10;
/** Seconds in which every request is answered, also one that waits for 20 s. */
const ANSWER = 40;

/** Prepares the agents; `run` returns the milliseconds of each wake, negative if the wake came first. */
export async function createWakes(port: number) {
  const url = `http://127.0.0.1:${port}`;
  const agents = await Promise.all(
    times(AGENTS, async () => {
      const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
      const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "w" }, token);
      return { token, secret, agent: await connect(url), person: await connect(url) };
    }),
  );
  type Agent = (typeof agents)[number];

  const wake = async ({ token, secret, agent, person }: Agent): Promise<number> => {
    const { id } = await post<{ id: string }>(port, "/v1/questions", { prompt: "Go on?" }, secret);
    agent.write(lines(`GET /v1/questions/${id}?wait=20`, secret));
    const woken = arrival(agent);
    await Bun.sleep(ASLEEP);
    person.write(lines(`POST /v1/questions/${id}/answer`, token, '{"answer":"Yes"}'));
    const answered_at = await arrival(person);
    return (await woken) - answered_at;
  };

  return {
    async run(seconds: number): Promise<number[]> {
      const late: number[] = [];
      const end = performance.now() + seconds * 1_000;
      const loop = async (agent: Agent) => {
        while (performance.now() < end) late.push(await wake(agent));
      };
      await Promise.all(agents.map(loop));
      return late;
    },
    close() {
      for (const { agent, person } of agents) {
        agent.end();
        person.end();
      }
    },
  };
}

async function arrival(connection: RawConnection): Promise<number> {
  const answer = await within(ANSWER, "an answer", connection.answer());
  const at = performance.now();
  if (answer?.status !== 200) throw new Error(`an answer ${answer?.status}: ${answer?.text}`);
  return at;
}

function lines(request: string, credential: string, body = ""): string {
  const type = body && `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  return `${request} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${credential}\r\n${type}\r\n${body}`;
}
