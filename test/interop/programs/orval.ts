import * as api from "./api.ts";
import { type Caller, frames, run } from "./flow.ts";

/** The body of this status; each status has its own type. */
function given<T extends { status: number; data: unknown }, S extends T["status"]>(
  response: T,
  status: S,
): Extract<T, { status: S }>["data"] {
  if (response.status !== status) throw new Error(JSON.stringify(response.data));
  return response.data as Extract<T, { status: S }>["data"];
}

const as = (token: string): Caller => {
  const options = { headers: { authorization: `Bearer ${token}` } };
  return {
    createKey: async (label) => given(await api.createKey({ label }, options), 201),
    createTask: async (body) => given(await api.createTask(body, options), 201),
    updateTask: async (id, body) => given(await api.updateTask(id, body, options), 200),
    ask: async ({ wait, ...body }) => given(await api.askQuestion(body, { wait }, options), 201),
    pending: async () => given(await api.listQuestions({}, options), 200).questions,
    answer: async (id, answer) => given(await api.answerQuestion(id, { answer }, options), 200),
    inbox: async () => given(await api.readInbox({ peek: true }, options), 200).items,
    list: async (status) => given(await api.listTasks({ status }, options), 200).tasks,
    missing: async (id) => {
      const response = await api.getTask(id, options);
      const { code, fields = {} } = given(response, 404);
      return { status: response.status, code, fields };
    },
    // orval's generated code reads a stream to its end, so only its address and types are used.
    async *events(signal) {
      const { body } = await fetch(api.getStreamEventsUrl(), { ...options, signal });
      for await (const { event, data } of frames(body!)) {
        const one = { event, data: JSON.parse(data) } as api.StreamEvent;
        yield { name: one.event, task: one.event === "task.created" ? one.data.task : null };
      }
    },
  };
};

await run(async () => given(await api.createAccount({}), 201), as);
