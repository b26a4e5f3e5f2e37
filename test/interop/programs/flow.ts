/** The main flow over a generated client in TypeScript; prints a report as one line of JSON. */

export interface Account {
  readonly id: string;
  readonly created_at: number;
}
export interface Task {
  readonly id: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly seen_at: number | null;
  readonly completed_at: number | null;
  readonly progress: number | null;
  readonly status: string;
}
export interface Question {
  readonly id: string;
  readonly status: string;
  readonly answer: string | null;
  readonly created_at: number;
  readonly answered_at: number | null;
  readonly expires_at: number;
}
export interface Item {
  readonly id: string;
  readonly type: string;
  readonly from: { readonly kind: string };
  readonly created_at: number;
  readonly task: Task | null;
}
export interface StreamEvent {
  readonly name: string;
  readonly task: Task | null;
}

/** The calls of the flow, made with this token. */
export interface Caller {
  createKey(label: string): Promise<{ key: Account; secret: string }>;
  createTask(body: {
    title: string;
    key_id?: string;
    status?: "todo" | "in_progress" | "done";
  }): Promise<Task>;
  updateTask(id: string, body: { progress: number; status: "in_progress" }): Promise<Task>;
  ask(body: {
    prompt: string;
    kind: "choice";
    options: string[];
    task_id: string;
    wait: number;
  }): Promise<Question>;
  pending(): Promise<Question[]>;
  answer(id: string, answer: string): Promise<Question>;
  inbox(): Promise<Item[]>;
  list(status: ("todo" | "in_progress")[]): Promise<Task[]>;
  /** The error for a task that does not exist. */
  missing(id: string): Promise<{ status: number; code: string; fields: object }>;
  /** Absent where the client has no event stream. */
  events?(signal: AbortSignal): AsyncIterable<StreamEvent>;
}

export async function run(
  createAccount: () => Promise<{ account: Account; token: string }>,
  as: (token: string) => Caller,
): Promise<void> {
  const { account, token } = await createAccount();
  const person = as(token);
  const stop = new AbortController();
  const seen = collect(person.events?.(stop.signal));
  // The stream has to be open before anything happens.
  await seen?.ready;
  const { key, secret } = await person.createKey("interop");
  const agent = as(secret);
  const made = await agent.createTask({ title: "Interop" });
  const task = await agent.updateTask(made.id, { progress: 50, status: "in_progress" });
  await agent.createTask({ title: "Done", status: "done" });
  await person.createTask({ title: "From the person", key_id: key.id });
  const asking = agent.ask({
    prompt: "Which?",
    kind: "choice",
    options: ["a", "b"],
    task_id: task.id,
    wait: 20,
  });
  for (let i = 0; i < 100; i++) {
    const [question] = await person.pending();
    if (question) {
      await person.answer(question.id, "b");
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const question = await asking;
  const items = await agent.inbox();
  const open = await agent.list(["todo", "in_progress"]);
  const error = await agent.missing("tsk_none");
  const events = (await seen?.first) ?? null;
  stop.abort();
  const report = {
    token,
    account,
    key: { id: key.id, created_at: key.created_at },
    task,
    question,
    items: items.map(({ id, type, from, created_at, task }) => ({
      id,
      type,
      from: from.kind,
      created_at,
      task_updated_at: task?.updated_at ?? null,
    })),
    open: open.map(({ id }) => id),
    error: { status: error.status, code: error.code, field: Object.keys(error.fields).join() },
    events,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.exit(0);
}

/** Reads events up to the first task. */
function collect(events: AsyncIterable<StreamEvent> | undefined) {
  if (!events) return undefined;
  let opened = () => {};
  const ready = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const first = (async () => {
    const names: string[] = [];
    for await (const { name, task } of events) {
      names.push(name);
      opened();
      if (task) return { names, updated_at: task.updated_at };
    }
    throw new Error(`the stream ended after ${names}`);
  })();
  return { ready: Promise.race([ready, first.then(() => {})]), first };
}

/** The frames of a body of server-sent events, for clients that return the body. */
export async function* frames(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ event: string; data: string }> {
  let text = "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 2);
      if (event && data) yield { event, data };
    }
  }
}
