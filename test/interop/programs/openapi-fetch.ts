import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";
import { type Caller, frames, run } from "./flow.ts";

const baseUrl = process.env.RELAY_URL!;
type StreamEvent = components["schemas"]["StreamEvent"];

const clientOf = (token?: string) =>
  createClient<paths>({
    baseUrl,
    ...(token && { headers: { authorization: `Bearer ${token}` } }),
  });

function given<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const as = (token: string): Caller => {
  const api = clientOf(token);
  return {
    createKey: async (label) => given(await api.POST("/v1/keys", { body: { label } })),
    createTask: async (body) => given(await api.POST("/v1/tasks", { body })),
    updateTask: async (task_id, body) =>
      given(await api.PATCH("/v1/tasks/{task_id}", { params: { path: { task_id } }, body })),
    ask: async ({ wait, ...body }) =>
      given(await api.POST("/v1/questions", { params: { query: { wait } }, body })),
    pending: async () => given(await api.GET("/v1/questions")).questions,
    answer: async (question_id, answer) =>
      given(
        await api.POST("/v1/questions/{question_id}/answer", {
          params: { path: { question_id } },
          body: { answer },
        }),
      ),
    inbox: async () =>
      given(await api.GET("/v1/inbox", { params: { query: { peek: true } } })).items,
    list: async (status) =>
      given(await api.GET("/v1/tasks", { params: { query: { status } } })).tasks,
    missing: async (task_id) => {
      const { error, response } = await api.GET("/v1/tasks/{task_id}", {
        params: { path: { task_id } },
      });
      return { status: response.status, code: error!.code, fields: error!.fields ?? {} };
    },
    async *events(signal) {
      const { response } = await api.GET("/v1/events", { parseAs: "stream", signal });
      for await (const frame of frames(response.body!)) {
        const one = { event: frame.event, data: JSON.parse(frame.data) } as StreamEvent;
        const task = one.event === "task.created" ? one.data.task : null;
        yield { name: one.event, task };
      }
    },
  };
};

await run(async () => given(await clientOf().POST("/v1/accounts", { body: {} })), as);
