import * as api from "./api/index.ts";
import { type Caller, run } from "./flow.ts";

const basePath = process.env.RELAY_URL!;

const accountOf = ({ id, createdAt }: { id: string; createdAt: number }) => ({
  id,
  created_at: createdAt,
});
const taskOf = (task: api.RelayTask) => ({
  ...accountOf(task),
  updated_at: task.updatedAt,
  seen_at: task.seenAt,
  completed_at: task.completedAt,
  progress: task.progress,
  status: task.status,
});
const questionOf = (question: api.Question) => ({
  ...accountOf(question),
  status: question.status,
  answer: question.answer,
  answered_at: question.answeredAt,
  expires_at: question.expiresAt,
});

const as = (token: string): Caller => {
  const configuration = new api.Configuration({ basePath, accessToken: token });
  const keys = new api.KeysApi(configuration);
  const tasks = new api.TasksApi(configuration);
  const questions = new api.QuestionsApi(configuration);
  const inbox = new api.InboxApi(configuration);
  return {
    createKey: async (label) => {
      const { key, secret } = await keys.createKey({ keyCreate: { label } });
      return { key: accountOf(key), secret };
    },
    createTask: async ({ key_id, ...rest }) => {
      const taskCreate = { ...rest, ...(key_id && { keyId: key_id }) };
      return taskOf(await tasks.createTask({ taskCreate }));
    },
    updateTask: async (taskId, taskUpdate) =>
      taskOf(await tasks.updateTask({ taskId, taskUpdate })),
    ask: async ({ wait, task_id, ...rest }) => {
      const questionCreate = { ...rest, taskId: task_id };
      return questionOf(await questions.askQuestion({ wait, questionCreate }));
    },
    pending: async () => (await questions.listQuestions()).questions.map(questionOf),
    answer: async (questionId, answer) =>
      questionOf(await questions.answerQuestion({ questionId, questionAnswer: { answer } })),
    inbox: async () => {
      const { items } = await inbox.readInbox({ peek: true });
      return items.map(({ id, type, from, createdAt, task }) => ({
        id,
        type,
        from: { kind: from.kind },
        created_at: createdAt,
        task: task && taskOf(task),
      }));
    },
    list: async (status) => (await tasks.listTasks({ status })).tasks.map(taskOf),
    missing: async (taskId) => {
      const error: unknown = await tasks.getTask({ taskId }).catch((thrown) => thrown);
      const { response } = error as api.ResponseError;
      const { code, fields = {} } = api.ProblemFromJSON(await response.json());
      return { status: response.status, code, fields };
    },
  };
};

const anyone = new api.AccountsApi(new api.Configuration({ basePath }));
await run(async () => {
  const { account, token } = await anyone.createAccount({ accountCreate: {} });
  return { account: accountOf(account), token };
}, as);
