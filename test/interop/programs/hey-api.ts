import { createClient } from "./api/client/index.ts";
import * as api from "./api/index.ts";
import { type Caller, run } from "./flow.ts";

const baseUrl = process.env.RELAY_URL!;
const clientOf = (token?: string) => createClient({ baseUrl, ...(token && { auth: () => token }) });

const as = (token: string): Caller => {
  const client = clientOf(token);
  const options = { client, throwOnError: true } as const;
  return {
    createKey: async (label) => (await api.createKey({ ...options, body: { label } })).data,
    createTask: async (body) => (await api.createTask({ ...options, body })).data,
    updateTask: async (task_id, body) =>
      (await api.updateTask({ ...options, path: { task_id }, body })).data,
    ask: async ({ wait, ...body }) =>
      (await api.askQuestion({ ...options, query: { wait }, body })).data,
    pending: async () => (await api.listQuestions(options)).data.questions,
    answer: async (question_id, answer) =>
      (await api.answerQuestion({ ...options, path: { question_id }, body: { answer } })).data,
    inbox: async () => (await api.readInbox({ ...options, query: { peek: true } })).data.items,
    list: async (status) => (await api.listTasks({ ...options, query: { status } })).data.tasks,
    missing: async (task_id) => {
      const { error, response } = await api.getTask({ client, path: { task_id } });
      return { status: response!.status, code: error!.code, fields: error!.fields ?? {} };
    },
    async *events(signal) {
      let name = "";
      const { stream } = await api.streamEvents({
        client,
        signal,
        onSseEvent: ({ event = "" }) => {
          name = event;
        },
      });
      for await (const data of stream) {
        yield { name, task: "task" in data ? (data.task as api.RelayTask) : null };
      }
    },
  };
};

await run(
  async () => (await api.createAccount({ client: clientOf(), body: {}, throwOnError: true })).data,
  as,
);
