import * as api from "./api/index.ts";
import { type Caller, run } from "./flow.ts";

const basePath = process.env.RELAY_URL!;

const as = (token: string): Caller => {
  const configuration = new api.Configuration({ basePath, accessToken: token });
  const keys = new api.KeysApi(configuration);
  const tasks = new api.TasksApi(configuration);
  const questions = new api.QuestionsApi(configuration);
  const inbox = new api.InboxApi(configuration);
  return {
    createKey: (label) => keys.createKey({ keyCreate: { label } }),
    createTask: (taskCreate) => tasks.createTask({ taskCreate }),
    updateTask: (taskId, taskUpdate) => tasks.updateTask({ taskId, taskUpdate }),
    ask: ({ wait, ...questionCreate }) => questions.askQuestion({ wait, questionCreate }),
    pending: async () => (await questions.listQuestions()).questions,
    answer: (questionId, answer) =>
      questions.answerQuestion({ questionId, questionAnswer: { answer } }),
    inbox: async () => (await inbox.readInbox({ peek: true })).items,
    list: async (status) => (await tasks.listTasks({ status })).tasks,
    missing: async (taskId) => {
      const error: unknown = await tasks.getTask({ taskId }).catch((thrown) => thrown);
      const { response } = error as api.ResponseError;
      const { code, fields = {} } = api.ProblemFromJSON(await response.json());
      return { status: response.status, code, fields };
    },
  };
};

const anyone = new api.AccountsApi(new api.Configuration({ basePath }));
await run(() => anyone.createAccount({ accountCreate: {} }), as);
