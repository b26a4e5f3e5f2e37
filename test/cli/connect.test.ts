/** `relay connect` and `relay disconnect` add and remove one entry, and every other byte stays. */

import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { offersSignIn } from "../../src/cli/connect/clients.ts";
import { CLAUDE_HOOKS } from "../../src/web/person/agents/permission-hooks.ts";
import { createUser } from "../support/cli.ts";
import { createTestClock } from "../support/clock.ts";

const LOCAL = "http://127.0.0.1:3000";
/** Without OAuth. */
const LAN = "http://192.168.1.5:3000";
const clock = createTestClock();

/** A user with one file at a path below the home folder. */
function withFile(path: string, text: string, given: Parameters<typeof createUser>[0] = { clock }) {
  const user = createUser(given);
  const file = join(user.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o640 });
  return { ...user, file, read: () => readFileSync(file, "utf8") };
}

const CURSOR = '{\n  "mcpServers": {\n    "a": {} // mine\n  }\n}\n';
const CONNECT = ["connect", "cursor", "--url", LOCAL];

test("relay connect shows the change and asks, and keeps a copy until the change is undone", async () => {
  const { home, file, read, run } = withFile(".cursor/mcp.json", CURSOR);
  const questions: string[] = [];
  const answer = (yes: boolean) => ({
    confirm: async (question: string) => {
      questions.push(question);
      expect(read()).toBe(questions.length < 4 ? CURSOR : after);
      return yes;
    },
  });
  const after = CURSOR.replace(
    '"a"',
    `"relay": {
      "url": "${LOCAL}/mcp",
      "headers": {
        "Authorization": "Bearer \${env:RELAY_KEY}"
      }
    },
    "a"`,
  );
  expect(await run(CONNECT)).toMatchObject({
    code: 3,
    err: "relay: nothing was changed: pass --yes to change files without a terminal\n",
  });
  expect(await run(CONNECT, answer(false))).toMatchObject({
    code: 1,
    err: "Nothing was changed.\n",
  });
  expect(read()).toBe(CURSOR);
  const { code, out, err } = await run(CONNECT, answer(true));
  expect([code, read()]).toEqual([0, after]);
  expect(out).toStartWith(`${file}\n@@ line 3 @@\n`);
  expect(out).toContain(`+      "url": "${LOCAL}/mcp",\n`);
  expect(err).toStartWith(`The file as it was: ${file}.before-relay\nCreate a key`);
  expect(readFileSync(`${file}.before-relay`, "utf8")).toBe(CURSOR);
  expect([file, `${file}.before-relay`].map((path) => statSync(path).mode & 0o777)).toEqual([
    0o640, 0o640,
  ]);
  expect(await run(CONNECT)).toMatchObject({ code: 0, out: "" });
  questions.push("");
  expect(await run(["disconnect", "cursor"], answer(true))).toMatchObject({ code: 0 });
  expect([read(), readdirSync(join(home, ".cursor"))]).toEqual([CURSOR, ["mcp.json"]]);
  expect(await run(["disconnect", "cursor"])).toMatchObject({
    code: 0,
    err: "Relay isn't configured there.\n",
  });
});

test("disconnecting deletes a file that connecting created, JSON included", async () => {
  const { home, run } = createUser({ clock, env: { RELAY_URL: "https://relay.example/" } });
  const file = join(home, ".config/Code/User/mcp.json");
  const connected = await run(["connect", "vscode", "--yes", "--json"]);
  expect(JSON.parse(connected.out)).toEqual({
    client: "vscode",
    files: [{ path: file, change: "added", copy: null }],
  });
  expect([JSON.parse(readFileSync(file, "utf8")), statSync(file).mode & 0o777]).toEqual([
    { servers: { relay: { type: "http", url: "https://relay.example/mcp" } } },
    0o600,
  ]);
  expect((await run(["disconnect", "vscode", "--yes"])).code).toBe(0);
  expect(existsSync(file)).toBeFalse();
});

test("connecting with a new address replaces the old one and keeps the person's settings", async () => {
  const entry = `{"url": "${LOCAL}/mcp", "headers": {"Authorization": "Bearer \${env:RELAY_KEY}"}, "disabled": true}`;
  const text = `{"mcpServers": {"relay": ${entry}}}`;
  const { read, run } = withFile(".cursor/mcp.json", text);
  expect((await run([...CONNECT.slice(0, 3), LAN, "--yes"])).code).toBe(0);
  expect(read()).toBe(text.replace(LOCAL, LAN));
});

test("--approve adds its hooks beside others, in the files that the client reads", async () => {
  const settings = '{\n  "hooks": {\n    "PostToolUse": [\n      { "hooks": [] }\n    ]\n  }\n}\n';
  const { home, file, read, run } = withFile(".claude/settings.json", settings);
  const toml = join(home, "codex/config.toml");
  const env = { env: { CODEX_HOME: dirname(toml) } };
  expect((await run(["connect", "claude", "--approve", "--url", LOCAL, "--yes"])).code).toBe(0);
  const entry = () => JSON.parse(readFileSync(join(home, ".claude.json"), "utf8")).mcpServers.relay;
  expect(entry()).toEqual({
    type: "http",
    url: `${LOCAL}/mcp?tools=approve`,
    headers: { "X-Agent-Host": "workbench" },
  });
  const { hooks } = JSON.parse(read());
  expect(Object.keys(hooks)).toEqual(["PermissionRequest", "PostToolUse"]);
  expect(hooks.PostToolUse).toHaveLength(2);
  expect(hooks.PermissionRequest[0]).toMatchObject({
    matcher: "*",
    hooks: [{ type: "mcp_tool", server: "relay", tool: "approve_action", timeout: 600 }],
  });
  // Without the option, the prompt hooks stay where they are, and so does what the person added.
  expect((await run(["connect", "claude", "--url", LOCAL, "--yes"])).out).toBe("");
  const servers = join(home, ".claude.json");
  const own = readFileSync(servers, "utf8").replace("=approve", "=approve&wait=60");
  writeFileSync(servers, own);
  const again = ["connect", "claude", "--approve", "--url", LOCAL, "--yes"];
  expect((await run(again)).out).toBe("");
  writeFileSync(servers, own.replace("?tools=approve&wait=60", "?x=1"));
  expect((await run(again)).code).toBe(0);
  expect(entry().url).toBe(`${LOCAL}/mcp?tools=approve`);
  expect((await run(["disconnect", "claude", "--yes"])).code).toBe(0);
  expect([
    read(),
    existsSync(join(home, ".claude.json")),
    existsSync(`${file}.before-relay`),
  ]).toEqual([settings, false, false]);
  expect((await run(["connect", "codex", "--approve", "--url", LOCAL, "--yes"], env)).code).toBe(0);
  expect(readFileSync(toml, "utf8")).toContain('[[hooks.PermissionRequest]]\nmatcher = "*"\n');
  expect(await run(["connect", "cursor", "--approve", "--url", LOCAL])).toMatchObject({
    code: 3,
    err: "relay: --approve is for claude and codex\n",
  });
});

test("connecting leaves an entry for another server, with its address and key, as it is", async () => {
  const acme = "https://relay.acme.example/mcp";
  const secret = { Authorization: "Bearer ACME-SECRET" };
  const others = [
    { url: acme, headers: secret },
    { url: acme, headers: { "X-Api-Key": "ACME-SECRET" } },
    { url: acme, http_headers: secret },
    { url: acme, bearer_token_env_var: "ACME_KEY" },
    { httpUrl: acme, oauth: { clientSecret: "ACME-SECRET" } },
  ];
  for (const entry of others) {
    const text = JSON.stringify({ mcpServers: { relay: entry } });
    const { read, run } = withFile(".gemini/settings.json", text);
    const { code, err } = await run(["connect", "gemini", "--url", LOCAL, "--yes"]);
    expect([code, read()]).toEqual([3, text]);
    expect(err).toContain("has another entry mcpServers.relay and was left alone");
  }
  // At the same origin, the entry holds the person's own key for Relay.
  const own = `{"mcpServers": {"relay": {"url": "${LOCAL}/x/mcp", "headers": {"Authorization": "Bearer x"}}}}`;
  const user = withFile(".cursor/mcp.json", own);
  expect((await user.run([...CONNECT, "--yes"])).code).toBe(0);
  expect(user.read()).toBe(own.replace("/x/mcp", "/mcp"));
});

test("disconnecting removes only what is marked as Relay's or has the known address", async () => {
  const acme = "https://relay.acme.example";
  const text = `{"servers": {"relay": {"url": "${acme}/mcp?a=b"}}}`;
  const { read, run } = withFile(".config/Code/User/mcp.json", text);
  const disconnect = ["disconnect", "vscode", "--yes"];
  for (const env of [{}, { RELAY_URL: LOCAL }]) {
    const { code, err } = await run(disconnect, { env });
    expect([code, read()]).toEqual([3, text]);
    expect(err).toContain(
      `may be another server's (if not, give --url ${acme}) and was left alone`,
    );
  }
  expect((await run([...disconnect, "--url", `${acme}/`])).code).toBe(0);
  expect(JSON.parse(read())).toEqual({});
});

test("connecting Claude Code removes the same hooks of the plugin that the page's lines write", async () => {
  const [, , text = ""] = /<<'(END)'\n(.+)\nEND$/s.exec(CLAUDE_HOOKS)!;
  const { hooks, ...rest } = JSON.parse(text);
  const { home, read, run } = withFile(".claude/skills/relay/.claude-plugin/plugin.json", text);
  const connect = ["connect", "claude", "--approve", "--url", LOCAL, "--yes"];
  expect((await run(connect)).code).toBe(0);
  const settings = JSON.parse(readFileSync(join(home, ".claude/settings.json"), "utf8"));
  expect([JSON.parse(read()), settings.hooks]).toEqual([rest, hooks]);
  expect((await run(connect)).out).toBe("");
});

test("relay connect follows a symbolic link, and the link stays a link", async () => {
  const { home, run } = createUser({ clock });
  const real = join(home, "dotfiles/cursor.json");
  mkdirSync(dirname(real));
  mkdirSync(join(home, ".cursor"));
  writeFileSync(real, CURSOR);
  const file = join(home, ".cursor/mcp.json");
  symlinkSync("../dotfiles/cursor.json", file);
  expect((await run([...CONNECT, "--yes"])).code).toBe(0);
  expect([readlinkSync(file), readdirSync(dirname(real))]).toEqual([
    "../dotfiles/cursor.json",
    ["cursor.json"],
  ]);
  expect(readFileSync(real, "utf8")).toContain('"relay"');
  expect((await run(["disconnect", "cursor", "--yes"])).code).toBe(0);
  expect([readFileSync(real, "utf8"), readlinkSync(file)]).toEqual([
    CURSOR,
    "../dotfiles/cursor.json",
  ]);
});

test("a symbolic link to an empty file keeps its file, even when the copy is gone", async () => {
  const { home, run } = createUser({ clock });
  const real = join(home, "cursor.json");
  writeFileSync(real, "");
  mkdirSync(join(home, ".cursor"));
  const file = join(home, ".cursor/mcp.json");
  symlinkSync(real, file);
  expect((await run([...CONNECT, "--yes"])).code).toBe(0);
  rmSync(`${file}.before-relay`);
  expect((await run(["disconnect", "cursor", "--yes"])).code).toBe(0);
  expect([readlinkSync(file), readFileSync(real, "utf8")]).toEqual([real, ""]);
});

test("a backup file that the person made stays as it is", async () => {
  const { home, run } = createUser({ clock });
  const file = join(home, ".cursor/mcp.json");
  mkdirSync(dirname(file));
  const own = `${file}.before-relay`;
  writeFileSync(own, "mine");
  for (const text of [null, CURSOR]) {
    if (text !== null) writeFileSync(file, text);
    const { code, err } = await run([...CONNECT, "--yes"]);
    expect([code, readFileSync(own, "utf8")]).toEqual([0, "mine"]);
    expect(err.includes(`${own}-2`)).toBe(text !== null);
    const disconnected = await run(["disconnect", "cursor", "--yes"]);
    expect([disconnected.code, disconnected.err]).toEqual([0, ""]);
    expect(readdirSync(dirname(file)).toSorted()).toEqual(
      text === null ? ["mcp.json.before-relay"] : ["mcp.json", "mcp.json.before-relay"],
    );
    if (text !== null) expect(readFileSync(file, "utf8")).toBe(text);
  }
  writeFileSync(`${own}-9`, "mine");
  const { code, err } = await run([...CONNECT, "--yes"]);
  expect([code, readFileSync(file, "utf8")]).toEqual([3, CURSOR]);
  expect(err).toContain("has 9 copies");
});

test("a file that cannot be changed is left alone, and the lines to add are shown", async () => {
  const foreign = '{"mcpServers": {"relay": {"command": "x"}}}';
  const keyless = `{"mcpServers": {"relay": {"url": "${LOCAL}/mcp"}}}`;
  const cases: Record<string, [text: string, reason: string, prepare?: (file: string) => void]> = {
    unreadable: ["{", "cannot be parsed"],
    foreign: [foreign, "has another entry mcpServers.relay"],
    keyless: [keyless, "has the entry without a key"],
    binary: ["\u0000", "cannot be parsed"],
    large: [" ".repeat(8 * 1024 * 1024 + 1), "is larger than 8 MiB"],
    read_only: [CURSOR, "is read-only", (file) => chmodSync(file, 0o440)],
    linked: [CURSOR, "has other names (hard links)", (file) => linkSync(file, `${file}.2`)],
  };
  for (const [text, reason, prepare] of Object.values(cases)) {
    const { file, read, run } = withFile(".cursor/mcp.json", text);
    prepare?.(file);
    const { code, out, err } = await run([...CONNECT, "--yes"]);
    expect([code, read() === text, existsSync(`${file}.before-relay`)]).toEqual([3, true, false]);
    expect(err).toStartWith(`relay: ${file} ${reason} and was left alone: add these lines`);
    expect(err.split("\n")).toHaveLength(2);
    expect(out).toBe((await run([...CONNECT, "--print"])).out);
    const { out: answer } = await run([...CONNECT, "--yes", "--json"]);
    expect(JSON.parse(answer).files).toMatchObject([{ path: file, change: "left_alone", reason }]);
  }
  for (const prepare of [
    (file: string) => mkdirSync(file),
    (file: string) => symlinkSync("nowhere", file),
    (file: string) => writeFileSync(file, new Uint8Array([0x7b, 0xff, 0x7d])),
  ]) {
    const { home, run } = createUser({ clock });
    mkdirSync(join(home, ".cursor"));
    prepare(join(home, ".cursor/mcp.json"));
    const { code, err } = await run([...CONNECT, "--yes"]);
    expect(code).toBe(3);
    expect(err).toMatch(/is not a regular file|leads nowhere|is not UTF-8/);
  }
});

test("a file that changes while the person decides is left alone", async () => {
  const { file, read, run } = withFile(".cursor/mcp.json", CURSOR);
  const other = CURSOR.replace('"a"', '"b"');
  const confirm = async () => {
    writeFileSync(file, other);
    return true;
  };
  const { code, err } = await run(CONNECT, { confirm });
  expect([code, read()]).toEqual([3, other]);
  expect(err).toContain("was changed meanwhile");
  expect(readdirSync(dirname(file)).filter((name) => !name.startsWith("mcp.json"))).toEqual([]);
});

test("if one of two files cannot be written, neither is", async () => {
  const { home, run } = withFile(".claude/settings.json", "[]");
  expect((await run(["connect", "claude", "--approve", "--url", LOCAL, "--yes"])).code).toBe(3);
  expect(existsSync(join(home, ".claude.json"))).toBeFalse();
});

test("the preview shows neither lines that stay nor a value that only gets a comma", async () => {
  const text = '{\n  "one": "secret1",\n  "two": "secret2"\n}\n';
  const { read, file, run } = withFile(".gemini/settings.json", text);
  const connected = await run(["connect", "gemini", "--url", LAN, "--yes"]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in.
  expect(connected.out).toContain('"Authorization": "Bearer ${RELAY_KEY}"');
  // The person moves the entry behind the others.
  const [, entry] = /\n( {2}"mcpServers".*\n {2}\}),\n/s.exec(read())!;
  writeFileSync(file, text.replace('"secret2"', `"secret2",\n${entry}`));
  const { code, out } = await run(["disconnect", "gemini", "--yes"]);
  expect([code, read()]).toEqual([0, text]);
  expect(out).toContain('+  "two": …\n');
  expect(connected.out + out).not.toContain("secret");
});

test("sign-in is offered at loopback addresses and at https addresses with a host name", () => {
  const offered = [LOCAL, "http://localhost:1", "http://[::1]:1", "https://relay.example"];
  const refused = [LAN, "http://relay.example", "https://192.168.1.5", "https://[fd00::1]"];
  expect(offered.filter((url) => !offersSignIn(url))).toEqual([]);
  expect(refused.filter(offersSignIn)).toEqual([]);
});
