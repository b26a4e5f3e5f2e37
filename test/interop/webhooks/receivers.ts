/** The webhook receivers of docs/notifications.md, with the libraries of Standard Webhooks. */

import { webhookRequest } from "../../../src/notify/webhooks/request.ts";
import type { Client, Context, Outcome, Result } from "../client.ts";
import { createVenv } from "../python.ts";

const DOCUMENT = new URL("../../../docs/notifications.md", import.meta.url);
/** Seconds until a receiver must listen, and until a message must have arrived. */
const WAIT = 30;

/** The program in this language that the document shows. */
async function readExample(language: string): Promise<string> {
  const text = await Bun.file(DOCUMENT).text();
  const found = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(text)?.[1];
  if (found === undefined) throw new Error(`the document has no example in ${language}`);
  return found;
}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + WAIT * 1000;
  while (!(await done())) {
    if (Date.now() > end) throw new Error("it did not happen in time");
    await Bun.sleep(100);
  }
}

async function freePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  return port!;
}

/** Adds a webhook, runs its receiver, and has Relay and a forger send to it. */
async function tryReceiver({ url, dir }: Context, command: readonly string[]) {
  const send = async (method: string, path: string, body: object, credential?: string) => {
    const headers = {
      "content-type": "application/json",
      ...(credential && { authorization: `Bearer ${credential}` }),
    };
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as any;
  };
  const port = await freePort();
  const hook = `http://127.0.0.1:${port}/`;
  const { token } = await send("POST", "/v1/accounts", {});
  const key = await send("POST", "/v1/keys", { label: "Interop" }, token);
  const given = { type: "webhook", label: "Receiver", url: hook };
  const { channel, secret } = await send("POST", "/v1/channels", given, token);
  const child = Bun.spawn([...command], {
    cwd: dir,
    env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret },
    stdout: "pipe",
    stderr: "inherit",
  });
  let said = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stdout) said += decoder.decode(part, { stream: true });
  })();
  try {
    const knock = () => fetch(hook, { method: "POST", body: "{}" }).catch(() => null);
    await until(async () => (await knock()) !== null);
    const { status } = await send("POST", `/v1/channels/${channel.id}/test`, {}, token);
    await send("POST", "/v1/tasks", { title: "Größe “ok”" }, key.secret);
    await until(() => said.includes("task.created"));
    return { verify: verdict(status === "sent"), refuse: await refuses(hook, secret) };
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    await reading;
  }
}

const verdict = (right: boolean, fault = "a signed message was refused"): Outcome =>
  right ? "ok" : { fault };

/** Messages that are not signed with the secret, were changed, or are too old. */
async function refuses(url: string, secret: string): Promise<Outcome> {
  const message = { id: "msg_1", type: "task.created", created_at: 1, data: "{}" };
  const now = Date.now() / 1000;
  const other = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const forged = webhookRequest(message, { url, secret: other }, now);
  const right = webhookRequest(message, { url, secret }, now);
  const old = webhookRequest(message, { url, secret }, now - 3_600);
  const statuses: number[] = [];
  for (const { headers, body } of [forged, { ...right, body: `${right.body} ` }, old, right]) {
    const response = await fetch(url, { method: "POST", headers: { ...headers }, body: body! });
    statuses.push(response.status);
  }
  return verdict(statuses.join() === "401,401,401,204", `answers ${statuses.join()}`);
}

const VERSIONS = { typescript: "1.1.1", python: "1.1.0", go: "0.0.1" };
const GO = "github.com/standard-webhooks/standard-webhooks/libraries";

export const clients: readonly Client[] = [
  {
    name: "standardwebhooks, TypeScript",
    surface: "webhooks",
    needs: ["npm"],
    async run(context): Promise<Result> {
      await context.write("package.json", '{ "type": "module" }');
      const packages = [`standardwebhooks@${VERSIONS.typescript}`];
      await context.exec(["npm", "install", "--no-audit", "--no-fund", ...packages]);
      await context.write("main.ts", await readExample("ts"));
      const checks = await tryReceiver(context, [process.execPath, "main.ts"]);
      return { version: VERSIONS.typescript, checks };
    },
  },
  {
    name: "standardwebhooks, Python",
    surface: "webhooks",
    needs: ["python3"],
    async run(context): Promise<Result> {
      await createVenv(context, [`standardwebhooks==${VERSIONS.python}`]);
      await context.write("main.py", await readExample("python"));
      const checks = await tryReceiver(context, ["venv/bin/python", "-u", "main.py"]);
      return { version: VERSIONS.python, checks };
    },
  },
  {
    name: "standard-webhooks, Go",
    surface: "webhooks",
    needs: ["go"],
    async run(context): Promise<Result> {
      await context.write("go.mod", "module receiver\n\ngo 1.23\n");
      await context.write("main.go", await readExample("go"));
      await context.exec(["go", "get", `${GO}@v${VERSIONS.go}`]);
      await context.exec(["go", "mod", "tidy"]);
      await context.exec(["go", "build", "-o", "receiver", "."]);
      const checks = await tryReceiver(context, [`${context.dir}/receiver`]);
      return { version: VERSIONS.go, checks };
    },
  },
];
