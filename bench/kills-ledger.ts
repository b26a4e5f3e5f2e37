/** What the clients of one round of kills sent, and what the store must therefore hold. */

import type { Question } from "../src/model/question.ts";
import type { Task } from "../src/model/task.ts";
import type { Answer, Send } from "../test/support/client.ts";

/** A request that can be repeated, with what was acknowledged; null without a response. */
interface Sent {
  readonly request: `POST /${string}`;
  readonly body: object;
  readonly key: string;
  readonly by: "person" | "agent";
  id: string | null;
}

/** The possible content of the store: what was last acknowledged, or that with the changes sent since. */
interface Entry<T> {
  acknowledged: T;
  changes: Partial<T> | null;
}

/** The server went away. */
class Gone extends Error {}

export type Ledger = Awaited<ReturnType<typeof createLedger>>;

/**
 * A new account with one key. `clientOf` returns a client of the current server, which may listen elsewhere
 * after a restart.
 */
export async function createLedger(anyone: Send, clientOf: (token: string) => Send) {
  const { token } = (await anyone("POST /v1/accounts")).body as { token: string };
  const made = await clientOf(token)("POST /v1/keys", { label: "Kills" });
  const { key, secret } = made.body as { key: { id: string }; secret: string };

  const sent: Sent[] = [];
  const tasks = new Map<string, Entry<Task>>();
  const questions = new Map<string, Entry<Question>>();
  const messages = new Map<string, string>();
  let acks = 0;
  let stopped = false;
  let ended = false;

  /** Sends while the round lasts; anything but success or a lost server is a fault. */
  async function answered<T>(request: Promise<Answer<T>>): Promise<T> {
    const answer = await request.catch(() => null);
    if (answer === null || (stopped && answer.status === 503)) throw new Gone();
    if (answer.status >= 300) {
      throw new Error(`an answer ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    acks++;
    return answer.body;
  }

  async function post<T extends { readonly id: string }>(
    by: Sent["by"],
    request: Sent["request"],
    body: object,
  ): Promise<T> {
    const own: Sent = { request, body, by, key: crypto.randomUUID(), id: null };
    sent.push(own);
    const headers = { "idempotency-key": own.key };
    const client = clientOf(by === "person" ? token : secret);
    const answer = await answered<T>(client(request, body, { headers }));
    own.id = answer.id;
    return answer;
  }

  async function step(name: string): Promise<void> {
    const task = await post<Task>("agent", "POST /v1/tasks", { title: name });
    const kept: Entry<Task> = { acknowledged: task, changes: { status_note: name, progress: 50 } };
    tasks.set(task.id, kept);
    const patch = clientOf(secret)(`PATCH /v1/tasks/${task.id}`, kept.changes);
    kept.acknowledged = await answered<Task>(patch);
    kept.changes = null;
    const body = { prompt: name, kind: "text", task_id: task.id };
    const question = await post<Question>("agent", "POST /v1/questions", body);
    const answer = `To ${name}`;
    const asked: Entry<Question> = {
      acknowledged: question,
      changes: { status: "answered", answer },
    };
    questions.set(question.id, asked);
    const path = `POST /v1/questions/${question.id}/answer` as const;
    asked.acknowledged = await post<Question>("person", path, { answer });
    asked.changes = null;
    const message = { key_id: key.id, text: name };
    messages.set((await post("person", "POST /v1/messages", message)).id, name);
  }

  /** Everything of a list, page by page. */
  async function all<T>(path: `/${string}`, name: string): Promise<T[]> {
    const found: T[] = [];
    for (let cursor: string | null | undefined = ""; typeof cursor === "string"; ) {
      const page: Answer = await clientOf(token)(`GET ${path}${cursor && `&cursor=${cursor}`}`);
      if (page.status !== 200) throw new Error(`GET ${path}: ${page.status}`);
      found.push(...page.body[name]);
      cursor = page.body.next_cursor;
    }
    return found;
  }

  return {
    acks: () => acks,
    unanswered: () => sent.filter(({ id }) => id === null).length,
    /** From now on a lost server is expected. */
    stop() {
      stopped = true;
    },
    /** The server was killed: a client that has met no failure stops after its step. */
    end() {
      ended = true;
    },
    /** Runs one client until the server is gone or {@link end}. */
    async load(name: string): Promise<void> {
      try {
        for (let i = 0; !ended; i++) await step(`${name}/${i}`);
      } catch (error) {
        if (!(error instanceof Gone) || !stopped) throw error;
      }
    },
    /** Repeats every request; returns their number. */
    async repeat(): Promise<number> {
      const again = async ({ request, body, key, by, id }: Sent) => {
        const headers = { "idempotency-key": key };
        const client = clientOf(by === "person" ? token : secret);
        const answer = await client(request, body, { headers });
        const replayed = answer.headers.get("idempotency-replayed") === "true";
        const same = id === null || (replayed && answer.body?.id === id);
        if (answer.status >= 300 || !same) {
          throw new Error(`${request} again: ${answer.status}, id ${answer.body?.id}, was ${id}`);
        }
      };
      await Promise.all(sent.map(again));
      for (const { changes, acknowledged } of questions.values()) {
        if (changes === null) continue;
        // Done by now, if it was sent at all.
        // The account would get more fields than in a list.
        const { body } = await clientOf(secret)<Question>(`GET /v1/questions/${acknowledged.id}`);
        const entry = questions.get(acknowledged.id)!;
        entry.acknowledged = body;
        entry.changes = null;
      }
      return sent.length;
    },
    /** Throws if something acknowledged is missing, differs, or exists twice. */
    async check(): Promise<void> {
      const stored_tasks = await all<Task>("/v1/tasks?limit=500", "tasks");
      once(stored_tasks.map(({ title }) => title));
      compare(stored_tasks, tasks);
      const path = "/v1/questions?status=pending,answered&limit=100";
      const stored_questions = await all<Question>(path, "questions");
      once(stored_questions.map(({ prompt }) => prompt));
      compare(stored_questions, questions);
      interface Item {
        readonly id: string;
        readonly type: string;
        readonly text: string | null;
        readonly question_id: string | null;
      }
      const items = await all<Item>(`/v1/keys/${key.id}/inbox?limit=100`, "items");
      const texts = items.filter(({ type }) => type === "message");
      once(texts.map(({ text }) => text!));
      once(items.flatMap(({ question_id }) => question_id ?? []));
      for (const [id, text] of messages) {
        if (texts.find((one) => one.id === id)?.text !== text) throw new Error(`lost: ${id}`);
      }
    },
  };
}

/** Throws if a text that was sent once exists twice. */
function once(texts: readonly string[]): void {
  const doubled = texts.find((text, i) => texts.indexOf(text) !== i);
  if (doubled !== undefined) throw new Error(`done twice: ${doubled}`);
}

function compare<T extends { readonly id: string; readonly status: string }>(
  stored: readonly T[],
  entries: ReadonlyMap<string, Entry<T>>,
): void {
  const found = new Map(stored.map((one) => [one.id, one]));
  for (const [id, { acknowledged, changes }] of entries) {
    const one = found.get(id);
    if (!one) throw new Error(`lost: ${id}`);
    const changed = changes !== null && holds(one, changes);
    if (!changed && !Bun.deepEquals(one, acknowledged, true)) throw new Error(`changed: ${id}`);
  }
}

const holds = <T>(one: T, part: Partial<T>): boolean =>
  Object.entries(part).every(([name, value]) => one[name as keyof T] === value);
