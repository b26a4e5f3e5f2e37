/** From a coding agent's request to the question that the person reads, and back. */

import { expect, test } from "bun:test";
import { ANSWERS, contentOf } from "../../src/permission/content.ts";
import { decisionText, unaskedText } from "../../src/permission/decision.ts";
import { type PermissionRequest, readCall } from "../../src/permission/request.ts";
import { makeVisible } from "../../src/permission/visible.ts";
import { asked, type Fields, HOOK, requestOf, shown } from "../support/permission.ts";

test("a command is asked with its whole text and its folder, apart from the agent's words", () => {
  const tool_input = { command: "rm -rf build", description: "Clean up" };
  const expected = {
    prompt: "Bash in ~/app: rm -rf build",
    options: ["Allow", "Deny"],
    context: "Clean up",
    action: {
      client: "claude_code",
      tool: "Bash",
      form: "command",
      folder: "/home/ann/app",
      session: "s1",
      host: "build-7",
      prompt_is_whole: true,
      text: "rm -rf build",
    },
  } as const;
  // As a value, and as the JSON text that replaces a hook's placeholder.
  expect(asked({ tool_name: "Bash", tool_input })).toEqual(expected);
  expect(asked({ tool_name: "Bash", tool_input: JSON.stringify(tool_input) })).toEqual(expected);
});

test("each tool of Claude Code and Codex has its own template, and other tools show all arguments", () => {
  const file_path = "/a/b.ts";
  const edit = { old_string: "one\ntwo\nfour", new_string: "one\nthree\nfour" };
  const diff = "@@\n one\n-two\n+three\n four";
  const cases: readonly (readonly [string, unknown, string, string])[] = [
    ["Bash", { command: "ls", dangerouslyDisableSandbox: false }, "command", "ls"],
    ["Edit", { file_path, ...edit }, "diff", `*** ${file_path}\n${diff}`],
    [
      "Edit",
      { file_path, old_string: "a", new_string: "", replace_all: true },
      "diff",
      `*** ${file_path}\n@@ every occurrence @@\n-a`,
    ],
    [
      "Write",
      { file_path, content: "x\ny" },
      "diff",
      `*** ${file_path}\n@@ the whole file @@\n+x\n+y`,
    ],
    [
      "MultiEdit",
      { file_path, edits: [edit, { old_string: "a", new_string: "b" }] },
      "diff",
      `*** ${file_path}\n${diff}\n@@\n-a\n+b`,
    ],
    ["WebFetch", { url: "https://x.example" }, "arguments", '{\n  "url": "https://x.example"\n}'],
    ["shell", { command: ["bash", "-lc", "make && echo 'x'"] }, "command", "make && echo 'x'"],
    ["shell", { command: ["rm", "-r", "a b", "it's"] }, "command", "rm -r 'a b' 'it'\\''s'"],
    ["exec_command", { cmd: "ls", workdir: "/srv", login: true }, "command", "ls"],
    ["apply_patch", "*** Begin Patch", "diff", "*** Begin Patch"],
    ["apply_patch", { command: "*** Begin Patch" }, "diff", "*** Begin Patch"],
    ["apply_patch", { command: ["apply_patch", "*** P"] }, "diff", "*** P"],
    ["mcp__db__run", { command: "drop" }, "arguments", '{\n  "command": "drop"\n}'],
  ];
  for (const [tool, input, form, text] of cases) {
    expect([tool, ...shown(tool, input)]).toEqual([tool, form, text]);
  }
  expect(asked({ tool_name: "shell", tool_input: { cmd: "ls", workdir: "/srv" } }).prompt).toBe(
    "shell in /srv: ls",
  );
});

test("an input that a template would not show whole is shown as its arguments", () => {
  for (const [tool, input] of [
    ["Bash", { command: "ls", dangerouslyDisableSandbox: true }],
    ["Bash", { command: "ls", cmd: "rm" }],
    ["Bash", { command: "ls", env: { PATH: "/evil" } }],
    ["Bash", { command: ["a", 1] }],
    ["Bash", { command: "ls", description: { a: 1 } }],
    ["Edit", { file_path: "a", old_string: "b", new_string: "c", mode: "777" }],
    ["Edit", { file_path: "a", old_string: "b", new_string: "c", replace_all: "no" }],
    ["Write", { file_path: "a", content: ["b"] }],
    ["MultiEdit", { file_path: "a", edits: [{ old_string: "b" }] }],
    ["apply_patch", { command: "x", strip: 1 }],
  ] as const) {
    expect([tool, ...shown(tool, input)]).toEqual([
      tool,
      "arguments",
      JSON.stringify(input, null, 2),
    ]);
  }
  // A path cannot begin a line of its own.
  const path = "a\n+++ b";
  const first = (file_path: string) => shown("Write", { file_path, content: "x" })[1];
  expect(first(path)).toStartWith('*** "a\\n+++ b"\n@@');
  // Nor can it look like another path in quotes.
  expect(first('"a\\n+++ b"')).toStartWith('*** "\\"a\\\\n+++ b\\""\n@@');
});

test("a prompt has the whole text or says that there is more, and nothing is cut silently [§2.5.6]", () => {
  const whole = "x".repeat(1_900);
  expect(asked({ tool_name: "Bash", tool_input: { command: whole } }).prompt).toEndWith(whole);
  const long = `${"y".repeat(2_000)} && rm -rf /`;
  const { prompt, action } = asked({ tool_name: "Bash", tool_input: { command: long } });
  expect(prompt.length).toBeLessThanOrEqual(2_000);
  expect(prompt).toContain("longer than shown here (2,012 characters). Read it in Relay");
  expect(action.text).toBe(long);
  // Escapes make a text longer than it is.
  const hidden = "\u200b".repeat(1_500);
  const escaped = asked({ tool_name: "Bash", tool_input: { command: `a${hidden}` } }).prompt;
  expect(escaped).toContain("Read it in Relay");
  expect([...escaped].length).toBeLessThanOrEqual(2_000);
  // A whole prompt never contains the cut mark, and the cut never splits an escape.
  expect(escaped).toMatch(/Bash in ~\/app: a(\\u\{200b\})+⟨…⟩\n\nThe command is longer/);
});

test("a request that does not fit, or cannot be stored as it is, is not asked", () => {
  const why = (given: Fields) => contentOf(requestOf(given), null);
  for (const command of ["z".repeat(20_001), "a\0b", "\ud800", " "]) {
    expect(why({ tool_name: "Bash", tool_input: { command } })).toBe("too_long");
  }
  const words = { command: "ls", description: "w".repeat(20_001) };
  expect(why({ tool_name: "Bash", tool_input: words })).toBe("too_long");
  expect(why({ tool_name: "shell", tool_input: { cmd: "ls", workdir: "d".repeat(1_001) } })).toBe(
    "too_long",
  );
  expect(
    asked({ tool_name: "Bash", tool_input: { command: "z".repeat(20_000) } }).action.text,
  ).toBe("z".repeat(20_000));
  const deep = `${'{"a":'.repeat(40)}1${"}".repeat(40)}`;
  for (const [field, given] of [
    ["tool_name", { tool_name: "" }],
    ["tool_name", { tool_name: "t".repeat(1_001) }],
    ["session_id", { tool_name: "Bash", session_id: "\ud800" }],
    ["cwd", { tool_name: "Bash", cwd: "c".repeat(1_001) }],
    ["tool_input", { tool_name: "Bash", tool_input: deep }],
  ] as const) {
    expect(readCall({ ...HOOK, ...given }, null)).toEqual({
      is: "unreadable",
      field,
      call: "hook",
    });
  }
});

/** What a client leaves there that does not know the placeholder. */
const PLACEHOLDER = `$${"{tool_input}"}`;

test("an absent, cut or placeholder input is unreadable, and so are numbers that JSON changes", () => {
  const is = (tool_input: unknown, more: Fields = {}) =>
    readCall({ ...HOOK, tool_name: "Bash", tool_input, ...more }, null).is;
  for (const given of [
    ...["", undefined, null, PLACEHOLDER, "ls", "null", '"ls"', "[1,", '{"command":"a && b'],
    ...["9007199254740993", "1e400", "1e-400", "-0", "0.1000000000000000000001"].map(
      (number) => `{"command":"ls","timeout":${number}}`,
    ),
    `${"[".repeat(40)}`,
  ]) {
    expect([given, is(given)]).toEqual([given, "unreadable"]);
    // What a used tool received need not be known.
    expect(is(given, { event: "PostToolUse" })).toBe("nothing");
  }
  // A parser would take one of the two, which need not be the tool's.
  for (const twice of [
    '{"command":"ls","command":"rm"}',
    '{"command":"ls","c\\u006fmmand":"rm"}',
    '[{"a":{"b":1,"b":1}}]',
  ]) {
    expect([twice, is(twice)]).toEqual([twice, "unreadable"]);
  }
  for (const once of ['{"a":{"b":1},"b":[{"b":1},{"b":"\\"b\\":1,"}]}', '{"__proto__":{"a":1}}']) {
    expect([once, is(once)]).toEqual([once, "request"]);
  }
  for (const text of [PLACEHOLDER, '{"patch":"*** Beg']) {
    expect(is(text, { tool_name: "apply_patch" })).toBe("unreadable");
  }
  const numbers =
    "[0, 0.0, -1.50, 1E3, 120e-2, 9007199254740992, 0.1, 1e21, 1.7976931348623157e308]";
  for (const given of [{}, "{}", [], numbers]) expect(is(given)).toBe("request");
  expect(is("", { input: {} })).toBe("request");
});

test("a command in a relative folder runs below the agent's folder, and an absolute one starts at a root", () => {
  const folder = (workdir: string, cwd = "/srv/a") =>
    asked({ tool_name: "shell", cwd, tool_input: { command: "ls", workdir } }).action.folder;
  expect(["", ".", "../b", "/c", "~/d", "E:\\f"].map((at) => folder(at))).toEqual([
    ...["/srv/a", "/srv/a/.", "/srv/a/../b", "/c", "~/d", "E:\\f"],
  ]);
  expect(folder("b", "")).toBe("b");
});

test("characters that hide or reorder text are escaped in the prompt and in every name [§2.5.6]", () => {
  const given = {
    tool_name: "Ba\u202esh",
    cwd: "/a\u2066b",
    session_id: "s\n1",
    tool_input: { command: "echo \u202e\u200b\u00a0\u2800\r\u{e0041}\n\tend" },
  };
  const { prompt, action } = asked(given);
  expect(prompt).toBe(
    "Ba\\u{202e}sh in /a\\u{2066}b: echo \\u{202e}\\u{200b}\\u{a0}\\u{2800}\\u{d}\\u{e0041}\n\tend",
  );
  expect(action).toMatchObject({
    tool: "Ba\\u{202e}sh",
    folder: "/a\\u{2066}b",
    session: "s\\u{a}1",
  });
  expect(action.text).toBe(given.tool_input.command);
  expect(makeVisible("naïve 日本語 👍 \t\n")).toBe("naïve 日本語 👍 \t\n");
});

test("runs that would push the rest out of view become marks in the prompt [§2.5.6]", () => {
  const prompt = (command: string) =>
    asked({ tool_name: "Bash", cwd: "", tool_input: { command } }).prompt.slice("Bash: ".length);
  for (const [command, expected] of [
    [`git status${" ".repeat(150)}; rm -rf ~`, "git status⟨150 spaces⟩; rm -rf ~"],
    [`a${" ".repeat(64)}b`, `a${" ".repeat(64)}b`],
    [`a${" ".repeat(5_000)}b`, "a⟨5,000 spaces⟩b"],
    ["a\n\n\nb", "a\n\n\nb"],
    ["a\n\n\n\n  b", "a⟨3 newlines⟩\n  b"],
    [`a${"\t".repeat(70)} \n${" ".repeat(65)}b`, "a⟨1 newline and 66 spaces and 70 tabs⟩b"],
    [`e${"\u0301".repeat(3)}`, `e${"\u0301".repeat(3)}`],
    [`e${"\u0301".repeat(40)}x`, "e⟨40 combining marks⟩x"],
  ] as const) {
    expect(prompt(command)).toBe(expected);
  }
  // No command can write such a mark.
  expect(prompt("a⟨150 spaces⟩")).toBe("a\\u{27e8}150 spaces\\u{27e9}");
});

test("the client is named by the call, or else by the MCP client's name, or else by its fields", () => {
  const clientOf = (given: Fields, name: string | null) =>
    requestOf({ tool_name: "Bash", prompt_id: "", ...given }, name).client;
  expect(clientOf({ client: "codex" }, "claude-code")).toBe("codex");
  expect(clientOf({}, "claude-code")).toBe("claude_code");
  expect(clientOf({}, "codex-mcp-client")).toBe("codex");
  expect(clientOf({ turn_id: "t" }, null)).toBe("codex");
  expect(clientOf({ prompt_id: "p" }, null)).toBe("claude_code");
  expect(clientOf({ permission_suggestions: "[]" }, "x")).toBe("claude_code");
  expect(clientOf({ client: "other?" }, null)).toBe("other");
});

test("session events are told from requests, under either name of the field", () => {
  const is = (given: Fields) =>
    readCall({ session_id: "s", tool_name: "Bash", tool_input: {}, ...given }, null).is;
  expect(is({ event: "PostToolUse" })).toBe("used");
  expect(is({ hook_event_name: "PostToolUse", event: "" })).toBe("used");
  expect(is({ event: "Stop" })).toBe("stopped");
  expect(is({ event: "Stop", session_id: "" })).toBe("nothing");
  expect(is({ hook_event_name: "PermissionRequest" })).toBe("request");
  expect(is({ tool_use_id: "u" })).toBe("request");
  expect(is({ event: "Notification" })).toBe("nothing");
});

const SESSION = "session";
const rule = (destination: string, ruleContent = "npm test:*") => ({
  type: "addRules",
  rules: [{ toolName: "Bash", ruleContent }],
  behavior: "allow",
  destination,
});
const folder = { type: "addDirectories", directories: ["/tmp"], destination: SESSION };

test("a session is granted only what ends with it: rules and folders, never a mode", () => {
  const suggestions = [
    { ...rule(SESSION), rules: [{ ...rule(SESSION).rules[0], more: 1 }], mode: "acceptEdits" },
    rule("localSettings"),
    { ...folder, rules: [{ toolName: "Bash" }], behavior: "allow" },
    { type: "setMode", mode: "acceptEdits", destination: SESSION },
    { ...rule(SESSION), behavior: "deny" },
    { ...rule(SESSION), type: "replaceRules" },
    { ...rule(SESSION), rules: [{ toolName: 1 }] },
    { ...rule(SESSION), rules: [] },
    null,
    "x",
  ];
  const given = {
    tool_name: "Bash",
    tool_input: { command: "npm test" },
    permission_suggestions: JSON.stringify(suggestions),
  };
  const { options, action } = asked(given);
  expect(options).toEqual(["Allow", "Deny", "Allow for this session"]);
  expect(action.grants).toEqual(["Bash(npm test:*)", "Folder /tmp"]);
  const decision = (answer: string) =>
    JSON.parse(decisionText(requestOf(given), { answer })).hookSpecificOutput.decision;
  expect(decision(ANSWERS.session)).toEqual({
    behavior: "allow",
    updatedPermissions: [rule(SESSION), folder],
  });
  expect(decision(ANSWERS.allow)).toEqual({ behavior: "allow" });
});

test("the session option is missing without suggestions, with too many, or for other clients", () => {
  const optionsOf = (permission_suggestions: unknown, client?: string) =>
    asked({ tool_name: "Bash", tool_input: { command: "ls" }, permission_suggestions }, client)
      .options;
  const two = ["Allow", "Deny"];
  expect(optionsOf("")).toEqual(two);
  expect(optionsOf([rule("userSettings")])).toEqual(two);
  expect(optionsOf([rule(SESSION)], "codex-mcp-client")).toEqual(two);
  expect(optionsOf(Array.from({ length: 21 }, () => rule(SESSION)))).toEqual(two);
  expect(optionsOf([rule(SESSION, "c".repeat(1_001))])).toEqual(two);
  expect(optionsOf([rule(SESSION, "rm\u202e")])).toHaveLength(3);
});

test("a hook and a permission tool get an answer in their own form, and no answer permits nothing", () => {
  const input = { command: "ls" };
  const hook = requestOf({ tool_name: "Bash", tool_input: input });
  const call = readCall({ tool_name: "Bash", input, tool_use_id: "toolu_1" }, "claude-code");
  if (call.is !== "request") throw new Error(call.is);
  const tool = call.request;
  const of = (request: PermissionRequest, answer: string | null, note?: string) => {
    const text = decisionText(request, { answer, note });
    return text === "" ? "" : JSON.parse(text);
  };
  const inHook = (decision: object) => ({
    hookSpecificOutput: { hookEventName: "PermissionRequest", decision },
  });
  expect(of(hook, "Allow", "fine")).toEqual(inHook({ behavior: "allow" }));
  expect(of(hook, "Deny")).toEqual(
    inHook({ behavior: "deny", message: "The person denied this." }),
  );
  expect(of(hook, "Deny", "Use the other branch")).toEqual(
    inHook({ behavior: "deny", message: "Use the other branch" }),
  );
  expect(of(tool, "Allow")).toEqual({ behavior: "allow", updatedInput: input });
  expect(of(tool, "Deny", "No")).toEqual({ behavior: "deny", message: "No" });
  for (const nothing of [null, "", "allow", "Yes"]) {
    expect(of(hook, nothing)).toBe("");
    expect(of(tool, nothing)).toEqual({ behavior: "deny", message: "Nobody answered." });
  }
  for (const why of ["own_tool", "too_long", "unreadable"] as const) {
    expect(unaskedText(hook, why)).toBe("");
    expect(JSON.parse(unaskedText(tool, why)).behavior).toBe("deny");
  }
});
