/** `relay hook` reads a client's permission request and prints its answer, and permits nothing on its own. */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

/** A coding agent's user with a key, and the person who answers. */
async function createCoder() {
  const { person, agent } = await createPair(app.url);
  const env = { RELAY_URL: app.url, RELAY_KEY: agent.secret };
  // The server's time stands still unless a test moves it: only the server ends a wait.
  const time = createTestClock();
  const user = createUser({ clock: time, env });
  const hook = (client: string, input: unknown, more: readonly string[] = []) =>
    user.start(["hook", client, ...more], {
      input: async () => (typeof input === "string" ? input : JSON.stringify(input)),
    });
  const pending = () =>
    until(async () => (await person.send("GET /v1/questions")).body.questions[0]);
  const read = async (id: string) => (await person.send(`GET /v1/questions/${id}`)).body;
  const answer = async (text: string, more: object = {}) => {
    const { id } = await pending();
    const { status } = await person.send(`POST /v1/questions/${id}/answer`, {
      answer: text,
      ...more,
    });
    expect(status).toBe(200);
  };
  const ended = async (status: string) =>
    (await person.send(`GET /v1/questions?status=${status}`)).body.questions;
  return { ...user, env, time, hook, person, pending, read, answer, ended };
}

/** Requests as the clients send them. */
const CLAUDE = {
  session_id: "5e06e05e",
  transcript_path: "/home/me/.claude/projects/app/5e06e05e.jsonl",
  cwd: "/home/me/app",
  prompt_id: "beb6df16",
  permission_mode: "default",
  hook_event_name: "PermissionRequest",
  tool_name: "Bash",
  tool_input: { command: "rm -rf build", description: "Clean up" },
  permission_suggestions: [
    { type: "addDirectories", directories: ["/home/me/app"], destination: "session" },
    { type: "setMode", mode: "acceptEdits", destination: "session" },
  ],
};
const CODEX = {
  session_id: "01a204e1",
  turn_id: "01a204e2",
  cwd: "/home/me/app",
  hook_event_name: "PermissionRequest",
  model: "gpt-5.1-codex",
  tool_name: "Bash",
  tool_input: { command: "rm -rf build" },
};
const GEMINI = {
  session_id: "c7ba1eb0",
  cwd: "/home/me/app",
  hook_event_name: "BeforeTool",
  tool_name: "run_shell_command",
  tool_input: { command: "rm -rf build", dir_path: "web" },
};
const ASK = '{"decision":"ask"}\n';

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const printed = async ({ code, printed }: { code: Promise<number>; printed: object }) => [
  await code,
  printed,
];

test("each client gets the answer in its own form, and the person sees the command [§12.6.5]", async () => {
  const { hook, pending, read, answer } = await createCoder();
  const hookText = (decision: object) => ({
    hookSpecificOutput: { hookEventName: "PermissionRequest", decision },
  });
  const denied = { behavior: "deny", message: "Not now" };
  const session = { behavior: "allow", updatedPermissions: [CLAUDE.permission_suggestions[0]] };
  const folder = "/home/me/app";
  const cases = [
    ["claude", CLAUDE, "claude_code", folder, "Allow", hookText({ behavior: "allow" })],
    ["claude", CLAUDE, "claude_code", folder, "Allow for this session", hookText(session)],
    ["codex", CODEX, "codex", folder, "Allow", hookText({ behavior: "allow" })],
    ["codex", CODEX, "codex", folder, "Deny", hookText(denied)],
    ["gemini", GEMINI, "other", "/home/me/app/web", "Allow", { decision: "allow" }],
    [
      "gemini",
      GEMINI,
      "other",
      "/home/me/app/web",
      "Deny",
      { decision: "deny", reason: "Not now" },
    ],
  ] as const;
  for (const [name, input, client, where, text, wanted] of cases) {
    const asked = hook(name, input);
    const { action } = await read((await pending()).id);
    const { command } = input.tool_input;
    const shown = { client, form: "command", folder: where, host: "workbench", text: command };
    expect(action).toMatchObject(shown);
    await answer(text, text === "Deny" ? { note: "Not now" } : {});
    expect([name, await asked.code, asked.printed.err]).toEqual([name, 0, ""]);
    expect(JSON.parse(asked.printed.out)).toEqual(wanted);
  }
});

test("the person sees the arguments as the client wrote them [§12.6.2]", async () => {
  const { hook, pending, read, answer } = await createCoder();
  const gemini = (tool_input: string) =>
    `{"hook_event_name":"BeforeTool","cwd":"/home/me/app","tool_name":"exec","tool_input":${tool_input}}`;
  for (const [tool_input, wanted] of [
    [
      '{"command":"rm -rf .","workdir":"/srv/production","dir_path":"/home/me/sandbox"}',
      {
        form: "arguments",
        folder: "/home/me/app",
        text: '{\n  "command": "rm -rf .",\n  "workdir": "/srv/production",\n  "dir_path": "/home/me/sandbox"\n}',
      },
    ],
    [
      '{"command":"rm","dir_path":"../other/..","timeout":5.0,"tty":true}',
      {
        form: "command",
        folder: "/home/me/app/../other/..",
        text: "rm",
        other_arguments: ["timeout: 5.0", "tty: true"],
      },
    ],
    [
      '{"n":1.50,"__proto__":{"evil":true}}',
      { form: "arguments", text: '{\n  "n": 1.50,\n  "__proto__": {\n    "evil": true\n  }\n}' },
    ],
  ] as const) {
    const asked = hook("gemini", gemini(tool_input));
    const { action } = await read((await pending()).id);
    expect(action).toMatchObject(wanted);
    await answer("Allow");
    expect(await asked.code).toBe(0);
    expect(JSON.parse(asked.printed.out)).toEqual({ decision: "allow" });
  }
});

test("an ambiguous input, or one that a parser would round, is not asked about [§12.6.2]", async () => {
  const { hook, env, ended } = await createCoder();
  const codex = (tool_input: string) =>
    `{"hook_event_name":"PermissionRequest","cwd":"/x","tool_name":"pay","tool_input":${tool_input}}`;
  const unclear = [
    ...['{"to":9007199254740993}', "9007199254740993", '{"cents":1e400}', "[-0]"],
    ...['{"to":1,"to":2}', '{"to":1},"tool_name":"see"', '{"to":1},"tool_input":{"to":2}'],
  ];
  for (const tool_input of unclear) {
    expect(await printed(hook("codex", codex(tool_input)))).toEqual([0, { out: "", err: "" }]);
  }
  // Bytes that are not UTF-8.
  const child = Bun.spawn([process.execPath, MAIN, "hook", "codex"], {
    env: { ...env, PATH: process.env.PATH ?? "", HOME: tempFolder() },
    stdin: new Blob([codex('{"command":"rm '), new Uint8Array([0xff]), '"}}']),
    stdout: "pipe",
  });
  expect([await child.exited, await new Response(child.stdout).text()]).toEqual([0, ""]);
  for (const status of ["cancelled", "expired"]) expect(await ended(status)).toEqual([]);
});

test("without an answer, the client's own prompt decides [§12.6.5]", async () => {
  const { hook, pending, read } = await createCoder();
  for (const [name, input, out, wait] of [
    ["claude", CLAUDE, "", 590],
    ["codex", CODEX, "", 120],
    ["gemini", GEMINI, ASK, 50],
  ] as const) {
    const asked = hook(name, input);
    const { id, created_at, expires_at } = await pending();
    expect([name, Math.round(expires_at - created_at)]).toEqual([name, wait]);
    await until(() => app.waits.count() === 1);
    await until(async () => {
      await clock.advance(wait);
      return app.waits.count() === 0;
    });
    expect(await printed(asked)).toEqual([0, { out, err: "" }]);
    expect((await read(id)).status).toBe("expired");
  }
});

test("an interrupt or the use of the tool ends the question [§12.6.6]", async () => {
  const { hook, pending, read } = await createCoder();
  for (const [name, input, out] of [
    ["claude", CLAUDE, ""],
    ["gemini", GEMINI, ASK],
  ] as const) {
    const asked = hook(name, input);
    const { id } = await pending();
    asked.interrupt();
    expect(await printed(asked)).toEqual([0, { out, err: "" }]);
    await until(async () => (await read(id)).status === "cancelled");
  }
  const asked = hook("claude", CLAUDE);
  const { id } = await pending();
  const { permission_suggestions: _, ...rest } = CLAUDE;
  const used = { ...rest, hook_event_name: "PostToolUse", tool_response: { stdout: "secret" } };
  expect(await printed(hook("claude", used))).toEqual([0, { out: "", err: "" }]);
  expect(await printed(asked)).toEqual([0, { out: "", err: "" }]);
  expect((await read(id)).status).toBe("cancelled");
});

test("the question names a subagent, and the client's name for Relay decides whose tools are not asked about [§12.6.2(2)]", async () => {
  const { hook, pending, read, answer } = await createCoder();
  const of_subagent = hook("claude", { ...CLAUDE, agent_id: "a859c806" });
  expect((await read((await pending()).id)).action.agent).toBe("a859c806");
  await answer("Deny");
  await of_subagent.code;
  const own = { ...CLAUDE, tool_name: "mcp__my_relay__send_message", tool_input: { text: "hi" } };
  expect(await printed(hook("claude", own, ["--server", "my relay"]))).toEqual([
    0,
    { out: "", err: "" },
  ]);
  const of_another = hook("claude", own);
  expect((await pending()).action.tool).toBe(own.tool_name);
  await answer("Allow");
  await of_another.code;
  expect(JSON.parse(of_another.printed.out)).toBeObject();
});

test("tools that Gemini CLI runs at the same time are asked about side by side [§12.6.6]", async () => {
  const { hook, person, answer, ended } = await createCoder();
  const list = async (): Promise<any[]> =>
    (await person.send("GET /v1/questions?status=pending")).body.questions;
  const ask = async (command: string, count: number) => {
    const asked = hook("gemini", { ...GEMINI, tool_input: { command } });
    await until(async () => (await list()).length === count);
    return asked;
  };
  const hooks = [await ask("make", 1), await ask("ls", 2)];
  for (const _ of hooks) await answer("Allow");
  for (const { code, printed } of hooks) {
    await code;
    expect(JSON.parse(printed.out)).toEqual({ decision: "allow" });
  }
  expect(await ended("cancelled")).toEqual([]);
});

test("Gemini CLI decides about Relay's own tools itself, recognized by the server that it names [§12.6.2(2)]", async () => {
  const { hook, pending, answer } = await createCoder();
  const uses = (server_name: string, tool_name: string, more: readonly string[] = []) => {
    const mcp_context = { server_name, tool_name, url: app.url };
    const use = { tool_name: `mcp_${server_name}_${tool_name}`, tool_input: { text: "hi" } };
    return hook("gemini", { ...GEMINI, ...use, mcp_context }, more);
  };
  const own = [0, { out: "{}\n", err: "" }];
  expect(await printed(uses("relay", "send_message"))).toEqual(own);
  expect(await printed(uses("my relay", "send_message", ["--server", "my relay"]))).toEqual(own);
  for (const use of [
    () => uses("slack", "send_message"),
    () => uses("relay", "send_message", ["--server", "my relay"]),
    () => uses("relay", "wipe_disk"),
    // Not by the tool's name, which may belong to another server.
    () => hook("gemini", { ...GEMINI, tool_name: "mcp_relay_send_message" }),
    () => hook("gemini", { ...GEMINI, tool_name: "send_message", mcp_context: null }),
  ]) {
    const other = use();
    await pending();
    await answer("Deny");
    await other.code;
    expect(JSON.parse(other.printed.out).decision).toBe("deny");
  }
});

test("an absent server, a wrong key and a wrong input permit nothing and are not faults", async () => {
  const { hook, env, start } = await createCoder();
  const wrong = [
    { env: { ...env, RELAY_URL: "http://127.0.0.1:1" } },
    { env: { ...env, RELAY_KEY: "mck_wrong" } },
    { env: {} },
    // This server responds, and is not Relay.
    { env: { ...env, RELAY_URL: `${app.url}/docs` } },
  ];
  for (const more of wrong) {
    for (const [name, input, out] of [
      ["claude", CLAUDE, ""],
      ["gemini", GEMINI, ASK],
    ] as const) {
      const given = { ...more, input: async () => JSON.stringify(input) };
      expect(await printed(start(["hook", name], given))).toEqual([0, { out, err: "" }]);
    }
  }
  for (const input of ["", "nonsense", "null", "[]", "{}", { ...CLAUDE, tool_name: 5 }]) {
    expect(await printed(hook("codex", input))).toEqual([0, { out: "", err: "" }]);
    expect((await hook("gemini", input).code) === 0).toBe(true);
  }
  // At a terminal it says why.
  const tried = start(["hook", "claude"], {
    env: {},
    err_is_terminal: true,
    input: async () => JSON.stringify(CLAUDE),
  });
  expect([await tried.code, tried.printed.err]).toEqual([
    0,
    "relay: not signed in: run relay login <url>, or set RELAY_URL and RELAY_KEY\n",
  ]);
});

test("relay hook treats a server that falls silent as lost", async () => {
  const { start, time, env } = await createCoder();
  for (const body of [null, ": ping\n\n"]) {
    let requests = 0;
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch() {
        requests++;
        if (body === null) return new Promise<Response>(() => {});
        const stream = new ReadableStream({ start: (to) => to.enqueue(body) });
        return new Response(stream, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const input = async () => JSON.stringify(GEMINI);
    const asked = start(["hook", "gemini"], {
      input,
      env: { ...env, RELAY_URL: server.url.origin },
    });
    await until(() => requests === 1);
    let is_done = false;
    void asked.code.then(() => {
      is_done = true;
    });
    await until(async () => {
      await time.advance(10);
      return is_done;
    });
    expect(await printed(asked)).toEqual([0, { out: ASK, err: "" }]);
  }
});

test("relay hook reads an input without an end for 10 seconds, or until an interrupt", async () => {
  const { start, time } = await createCoder();
  for (const [name, out] of [
    ["claude", ""],
    ["gemini", ASK],
  ] as const) {
    for (const is_interrupted of [false, true]) {
      let reading = 0;
      const input = ({ signal }: { readonly signal?: AbortSignal }) => {
        reading++;
        return new Promise<string>((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
        });
      };
      const asked = start(["hook", name], { input });
      await until(() => reading === 1);
      if (is_interrupted) asked.interrupt();
      else await time.advance(10);
      expect(await printed(asked)).toEqual([0, { out, err: "" }]);
    }
  }
});

test.each(["SIGTERM", "SIGHUP"] as const)(
  "relay hook ends by %s while its standard input is open",
  async (signal) => {
    const child = Bun.spawn([process.execPath, MAIN, "hook", "gemini"], {
      env: { PATH: process.env.PATH ?? "", HOME: tempFolder() },
      stdin: "pipe",
      stdout: "pipe",
    });
    // More than a pipe holds: once it is written, the process is reading.
    child.stdin.write(" ".repeat(4 * 1024 * 1024));
    await child.stdin.flush();
    child.kill(signal);
    expect([await child.exited, await new Response(child.stdout).text()]).toEqual([0, ASK]);
  },
);

test("SIGTERM ends relay hook with exit code 0 and no answer, and the question is cancelled", async () => {
  const { env, pending, read } = await createCoder();
  const child = Bun.spawn([process.execPath, MAIN, "hook", "claude"], {
    env: { ...env, PATH: process.env.PATH ?? "", HOME: tempFolder() },
    stdin: new Blob([JSON.stringify(CLAUDE)]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const { id } = await pending();
  child.kill("SIGTERM");
  const output = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect(output).toEqual([0, "", ""]);
  await until(async () => (await read(id)).status === "cancelled");
});
