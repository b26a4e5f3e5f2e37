/** What the command line prints and reads, without a server. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { baseOf } from "../../src/cli/base.ts";
import { duration } from "../../src/cli/duration.ts";
import { jsonLine, manyLines, oneLine } from "../../src/cli/escape.ts";
import { configFolder } from "../../src/cli/settings.ts";
import { createUser } from "../support/cli.ts";
import { createTestClock } from "../support/clock.ts";
import { SEED } from "../support/random.ts";

const clock = createTestClock();

test("other people's text cannot control a terminal, and JSON output still has it whole", () => {
  // Escape, carriage return, backspace, a C1 control, and a change of text direction.
  const evil = "a\u001b[2Jb\rc\bd\u009bKe\u202ef\u2066g\u0000";
  expect(oneLine(evil)).toBe("a\\u001b[2Jb\\u000dc\\u0008d\\u009bKe\\u202ef\\u2066g\\u0000");
  expect(oneLine("a\nb")).toBe("a\\u000ab");
  expect(manyLines("a\r\nb\tc\rd")).toBe("a\nb\tc\\u000dd");
  const controls = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`;
  const steering = new RegExp(`[${controls}]`);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(manyLines(text)).not.toMatch(steering);
      expect(oneLine(text)).not.toMatch(/[\n\t]/);
      const line = jsonLine({ text });
      expect(line.slice(0, -1)).not.toMatch(steering);
      expect(JSON.parse(line)).toEqual({ text });
    }),
    { seed: SEED },
  );
});

test("an address is accepted in the form that a client's settings or a browser shows", () => {
  const base = "https://relay.example";
  for (const text of [
    ...["", "/", "//", "/mcp", "/mcp/", "/mcp?tools=approve", "/mcp?tools=approve&wait=30"],
    ...["/#/account", "/#/agents/new", "/#/questions/qst_1?x=1", "/mcp#/"],
  ]) {
    expect([text, baseOf(`${base}${text}`)]).toEqual([text, base]);
    expect(baseOf(`${base}:8443/relay${text}`)).toBe(`${base}:8443/relay`);
  }
  expect(baseOf(` ${base}/mcp\n`)).toBe(base);
  expect(baseOf("http://[::1]:3000/mcp")).toBe("http://[::1]:3000");
  for (const text of [
    ...["relay.example/mcp", "ftp://relay.example", `${base}?x=1`, `${base}/x?tools=approve`],
    ...[`${base}/#anchor`, "https://user@relay.example/mcp", "", "/mcp"],
  ]) {
    expect(() => baseOf(text, "RELAY_URL")).toThrow("RELAY_URL is not the address of a server");
  }
});

test("a duration has a unit or is in seconds, and has bounds", () => {
  const parse = duration(60, 86_400);
  expect(["60", "90s", "10m", "24h"].map(parse)).toEqual([60, 90, 600, 86_400]);
  for (const text of ["59", "25h", "", "m", "1d", "-5m", "1.5h", "9999999s"]) {
    expect(() => parse(text)).toThrow();
  }
});

test("the configuration folder is the system's", () => {
  const home = "/home/me";
  expect(configFolder({ platform: "linux", home, env: {} })).toBe("/home/me/.config/relay");
  const env = { XDG_CONFIG_HOME: "/conf" };
  expect(configFolder({ platform: "linux", home, env })).toBe("/conf/relay");
  expect(configFolder({ platform: "linux", home, env: { XDG_CONFIG_HOME: "conf" } })).toBe(
    "/home/me/.config/relay",
  );
  expect(configFolder({ platform: "darwin", home, env: {} })).toBe(
    "/home/me/Library/Application Support/Relay",
  );
});

test("a fault is one line that says what to do, with exit code 3", async () => {
  const { run } = createUser({ clock });
  const faults: [string[], string][] = [
    [
      ["ask", "Go?"],
      "relay: not signed in: run relay login <url>, or set RELAY_URL and RELAY_KEY\n",
    ],
    [["login", "nonsense"], "is not the address of a server, such as https://relay.example\n"],
    [["ask", "Go?", "--text", "--choice", "a"], "relay: give --choice or --text, not both\n"],
    [["ask", "Go?", "--wait", "5s"], "It must be 60 s to 24 h, such as 90s or 10m.\n"],
    [["hook", "claude", "--wait", "11m"], "It must be 10 s to 10 min, such as 90s or 10m.\n"],
    [["ask", "Go?", "--context", "/nonexistent"], "/nonexistent cannot be read: check the path\n"],
    [["ask"], "relay: missing required argument 'prompt'\n"],
    [["nonsense\u001b[2J"], "relay: unknown command 'nonsense\\u001b[2J'\n"],
    [["task", "set", "tsk_1"], "nothing to change: see relay task set --help\n"],
    [
      ["task", "list", "--status", "gone"],
      "argument 'gone' is invalid. Allowed choices are todo, in_progress, done, cancelled.\n",
    ],
    [["inbox", "--follow", "--peek"], "give --follow or --peek, not both\n"],
  ];
  for (const [words, text] of faults) {
    const { code, out, err } = await run(words);
    expect([words, code, out]).toEqual([words, 3, ""]);
    expect(err).toEndWith(text);
    expect(err.trimEnd().split("\n")).toHaveLength(1);
  }
  const wrong: [Record<string, string>, string][] = [
    [
      { RELAY_URL: "junk" },
      "RELAY_URL is not the address of a server, such as https://relay.example",
    ],
    [
      { RELAY_KEY: "mck_a\nb" },
      "RELAY_KEY has characters that a key never has, such as a line break: copy the key again",
    ],
  ];
  for (const [given, text] of wrong) {
    const env = { RELAY_URL: "http://127.0.0.1:1", RELAY_KEY: "mck_x", ...given };
    expect(await run(["task", "list"], { env })).toEqual({
      code: 3,
      out: "",
      err: `relay: ${text}\n`,
    });
  }
  const away = await run(["task", "add", "A"], {
    env: { RELAY_URL: "http://127.0.0.1:1", RELAY_KEY: "mck_x" },
    timers: {
      elapsed: () => 0,
      after: (_, act) => {
        queueMicrotask(act);
        return () => {};
      },
      jitter: () => 1e9,
    },
  });
  expect([away.code, away.err]).toEqual([
    3,
    "relay: The server cannot be reached: check that it runs, and run relay health <url>\n",
  ]);
});

/** The library prints to the console. */
async function complete(...words: string[]) {
  const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, main, "complete", ...words], { stdout: "pipe" });
  return { output: await new Response(child.stdout).text() };
}

test("every command has help with examples", async () => {
  const { run } = createUser({ clock });
  const all = await run(["--help"]);
  const names = [...all.out.matchAll(/^ {2}(\w+) .*/gm)].map(([, name]) => name!);
  expect(names).toEqual(expect.arrayContaining(["serve", "login", "ask", "task", "inbox", "say"]));
  const commands = [
    "serve",
    "health",
    "login",
    "connect",
    "disconnect",
    "doctor",
    "ask",
    "inbox",
    "say",
    "hook",
  ];
  for (const words of commands.map((command) => [command])) {
    const { code, out, err } = await run([...words, "--help"]);
    expect([words, code, err]).toEqual([words, 0, ""]);
    expect(out).toContain(`Examples:\n`);
  }
  for (const name of ["add", "set", "done", "list"]) {
    expect((await run(["task", name, "--help"])).out).toContain(`relay task ${name} `);
  }
  expect((await run(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("relay completion prints a shell's script, which completes commands and options", async () => {
  const { output } = await complete("--", "ta");
  expect(output).toContain("task");
  expect((await complete("--", "task", "add", "--pri")).output).toContain("--priority");
  expect((await complete("bash")).output).toContain("relay");
});
