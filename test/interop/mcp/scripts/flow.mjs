/**
 * What every MCP client in JavaScript does; prints what came of it as one line of JSON. A client is
 * `tools()`, the names of the tools, and `call(name, arguments, signal)`, which gives `{text, data}` of a
 * result; the signal ends the call as the client's own users would.
 */

export const url = process.env.RELAY_URL;
export const headers = { authorization: `Bearer ${process.env.RELAY_KEY}` };

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const late = (ms) => sleep(ms).then(() => Promise.reject(new Error("it took too long")));

/** The first JSON object of a text, as some clients join the texts of a result. */
function firstObject(text) {
  let depth = 0;
  let quoted = false;
  for (let i = text.indexOf("{"); i < text.length; i++) {
    if (quoted && text[i] === "\\") i++;
    else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text[i] === "{") depth++;
    else if (!quoted && text[i] === "}" && --depth === 0) {
      return JSON.parse(text.slice(text.indexOf("{"), i + 1));
    }
  }
  throw new Error(`no object in: ${text.slice(0, 200)}`);
}

/** Resolves once the person sees the question: one that the agent has listed would not be joined. */
async function untilAsked(prompt) {
  const headers = { authorization: `Bearer ${process.env.RELAY_ACCOUNT}` };
  for (;;) {
    const answer = await fetch(new URL("/v1/questions", url), { headers });
    const { questions } = await answer.json();
    if (questions.some((question) => question.prompt === prompt)) return;
    await sleep(50);
  }
}

export const texts = (content) => content.map(({ text = "" }) => text).join("\n");

export async function flow(tools, call) {
  const data = async (name, args) => {
    const { text, data } = await call(name, args);
    return data ?? firstObject(text);
  };
  const steps = {
    list: async () => ({ tools: (await tools()).length }),
    async call() {
      const { id } = await data("create_task", { title: "Try", notify: false });
      const { tasks } = await data("list_tasks", { status: ["todo"], limit: 1 });
      return { same: tasks[0].id === id, title: tasks[0].title };
    },
    ask: () => data("ask_question", { prompt: "Answer me", wait_seconds: 30 }),
    async pending() {
      const began = performance.now();
      const { status } = await data("ask_question", { prompt: "Leave me", wait_seconds: 1 });
      return { status, seconds: (performance.now() - began) / 1000 };
    },
    async cancel() {
      const ask = { prompt: "Cancel me", wait_seconds: 30 };
      const abort = new AbortController();
      const first = call("ask_question", ask, abort.signal).catch(() => {});
      await untilAsked(ask.prompt);
      abort.abort();
      // Some clients leave the call open.
      await Promise.race([first, sleep(500)]);
      // The server has yet to hear of it.
      await sleep(500);
      return { status: (await data("ask_question", { ...ask, wait_seconds: 1 })).status };
    },
    error: () =>
      call("get_task", { task_id: "tsk_none" }).then(
        ({ text }) => ({ text }),
        (thrown) => ({ text: String(thrown?.message ?? thrown) }),
      ),
  };
  const outcome = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      outcome[name] = await Promise.race([step(), late(60_000)]);
    } catch (thrown) {
      outcome[name] = { fault: String(thrown?.stack ?? thrown).slice(0, 400) };
    }
  }
  process.stdout.write(`\n${JSON.stringify(outcome)}\n`);
}
