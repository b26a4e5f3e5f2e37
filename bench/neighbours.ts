/** Well-behaved clients, each with its own account, key and address, below every limit. */

import { type Answer, type Connection, connectFrom, openConnection } from "./connection.ts";
import { requestOf } from "./load.ts";
import { times } from "./process.ts";

/** Milliseconds between two steps of a client: about eight requests a second with its key. */
const PACE = 150;
/** Milliseconds after which a request counts as failed. */
const PATIENCE = 5_000;
/** Seconds that a wait asks for, and milliseconds until it has gone to sleep. */
const WAIT = 4;
const ASLEEP = 10;
const BODY = JSON.stringify({ title: "Release version 2", description: "Build, test, publish." });

export interface Seen {
  /** Milliseconds of each request, and of each wake after its answer. */
  readonly ms: number[];
  /** The number of failures of each kind. */
  readonly failed: Map<string, number>;
}

export type Neighbours = Awaited<ReturnType<typeof startNeighbours>>;

/** Starts `count` clients from 127.0.`network`.1 on; `take` returns what they saw since the last call. */
export async function startNeighbours(port: number, network: number, count: number) {
  let seen: Seen = { ms: [], failed: new Map() };
  let stopped = false;
  const open = new Set<{ end(): void }>();

  const failed = (what: string) => {
    if (!stopped) seen.failed.set(what, (seen.failed.get(what) ?? 0) + 1);
  };

  /** A connection that is reopened after a failure; sends a request and measures the time. */
  function createLine(address: string) {
    let connection: Connection | null = null;
    return async (line: string, credential: string, body = "", timed = true) => {
      const into = seen;
      const from = performance.now();
      let answer: Answer | null = null;
      try {
        if (connection === null || connection.ended) {
          connection = await openConnection(address, port);
          open.add(connection);
        }
        answer = await connection.exchange(requestOf(line, { credential, body }), PATIENCE);
      } catch {
        // Reported as a missing response.
      }
      if (timed) into.ms.push(performance.now() - from);
      if (answer === null || answer.status >= 400) {
        failed(`${line.replace(/\/(tsk|qst)_\w+/, "").split("?")[0]} ${answer?.status ?? "none"}`);
        if (connection) open.delete(connection);
        connection?.end();
        connection = null;
        return null;
      }
      return JSON.parse(answer.text);
    };
  }

  /** Holds an event stream open; its end is a failure, after which it is reopened. */
  async function holdStream(address: string, token: string): Promise<void> {
    while (!stopped) {
      const gone = Promise.withResolvers<void>();
      try {
        const socket = await connectFrom(address, port, { close: gone.resolve });
        open.add(socket);
        socket.write(requestOf("GET /v1/events", { credential: token }));
        await gone.promise;
        open.delete(socket);
      } catch {
        // Reported as a stream that ended.
      }
      failed("stream");
      await Bun.sleep(PACE);
    }
  }

  async function start(index: number): Promise<void> {
    const address = `127.0.${network}.${index + 1}`;
    const [agent, person, waiter] = times(3, () => createLine(address)) as [Line, Line, Line];
    const made = async <T>(answer: Promise<T | null>) => {
      const body = await answer;
      if (body === null) throw new Error(`a client was not prepared: ${[...seen.failed.keys()]}`);
      return body;
    };
    const { token } = await made(person("POST /v1/accounts", "", "{}"));
    const { secret } = await made(person("POST /v1/keys", token, '{"label":"Neighbour"}'));
    let { id } = await made(agent("POST /v1/tasks", secret, BODY));
    void holdStream(address, token);

    const ask = async () => {
      const question = await agent("POST /v1/questions", secret, '{"prompt":"Go on?"}');
      if (question === null) return;
      const path = `/v1/questions/${question.id}`;
      const woken = waiter(`GET ${path}?wait=${WAIT}`, secret, "", false).then(() =>
        performance.now(),
      );
      await Bun.sleep(ASLEEP);
      const into = seen;
      if (await person(`POST ${path}/answer`, token, '{"answer":"Yes"}')) {
        const answered_at = performance.now();
        into.ms.push(Math.max(0, (await woken) - answered_at));
      } else {
        await woken;
      }
    };
    const steps = [
      async () => {
        id = (await agent("POST /v1/tasks", secret, BODY))?.id ?? id;
      },
      () => agent(`GET /v1/tasks/${id}`, secret),
      () => agent("GET /v1/tasks?limit=20", secret),
      () => agent(`PATCH /v1/tasks/${id}`, secret, `{"status_note":"At ${performance.now()}"}`),
      ask,
    ];
    void (async () => {
      await Bun.sleep(Math.random() * PACE);
      for (let i = index; !stopped; i++) {
        await steps[i % steps.length]!();
        await Bun.sleep(PACE);
      }
    })();
  }
  type Line = ReturnType<typeof createLine>;

  await Promise.all(times(count, start));
  return {
    take(): Seen {
      const taken = seen;
      seen = { ms: [], failed: new Map() };
      return taken;
    },
    stop() {
      stopped = true;
      for (const one of open) one.end();
    },
  };
}
