/** Tries an MCP client: starts its script, answers its question, and judges its output. */

import type { Context, Outcome, Result } from "./client.ts";

const SCRIPTS = new URL("mcp/scripts/", import.meta.url);

/** Tools that Relay has. */
const TOOLS = 12;

/** Milliseconds between two looks for a question to answer. */
const LOOK = 200;

/** Copies scripts into the client's folder. */
export async function copyScripts({ write }: Context, ...names: readonly string[]): Promise<void> {
  for (const name of names) await write(name, await Bun.file(new URL(name, SCRIPTS)).text());
}

/** What a script found in each step; `fault` where the client failed. */
type Found = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Runs the script against an account of its own, and returns the checks of the table. */
export async function tryClient(
  { url, exec }: Context,
  command: readonly string[],
): Promise<Result["checks"]> {
  const send = async (credential: string, request: string, body?: object): Promise<any> => {
    const [method, path] = request.split(" ") as [string, string];
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  const { token } = await send("none", "POST /v1/accounts", {});
  const { secret } = await send(token, "POST /v1/keys", { label: "interop" });
  const pending = async (prompt: string): Promise<{ id: string }[]> => {
    const { questions } = await send(token, "GET /v1/questions");
    return questions.filter((question: { prompt: string }) => question.prompt === prompt);
  };
  const answerAll = async () => {
    for (const { id } of await pending("Answer me")) {
      await send(token, `POST /v1/questions/${id}/answer`, { answer: "Yes" });
    }
  };
  const person = setInterval(() => void answerAll().catch(() => {}), LOOK);
  try {
    const env = { RELAY_URL: `${url}/mcp`, RELAY_KEY: secret, RELAY_ACCOUNT: token };
    const output = await exec(command, { env, seconds: 300 });
    // Some clients write to the same output.
    const line = output.split("\n").findLast((one) => /^\{.*"list":/.test(one));
    if (line === undefined) throw new Error(`its script printed no outcome: ${output.slice(-300)}`);
    return judge(JSON.parse(line) as Found, (await pending("Cancel me")).length);
  } finally {
    clearInterval(person);
  }
}

/** `asked`: questions that are pending after the client cancelled one and asked the same again. */
function judge(found: Found, asked: number): Result["checks"] {
  const check = (name: string, holds: (step: Found[string]) => boolean): Outcome => {
    const step = found[name] ?? { fault: "the step is missing" };
    if (step.fault !== undefined) return { fault: String(step.fault) };
    return holds(step) ? "ok" : { fault: JSON.stringify(step) };
  };
  const cancel = check("cancel", ({ status }) => status === "pending");
  return {
    list: check("list", ({ tools }) => tools === TOOLS),
    call: check("call", ({ same, title }) => same === true && title === "Try"),
    ask: check("ask", ({ status, answer }) => status === "answered" && answer === "Yes"),
    // A wait of one second takes about one.
    pending: check("pending", ({ status, seconds }) => status === "pending" && Number(seconds) < 5),
    cancel: cancel === "ok" && asked !== 1 ? { fault: `${asked} questions for one` } : cancel,
    error: check("error", ({ text }) => String(text).includes("not_found")),
  };
}
