/** `relay ask`: answers, exit codes, and one question across interruptions. */

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startTestApp } from "../support/app.ts";
import { createUser, startFront } from "../support/cli.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

/** A user of the command line who has a key, and the person who answers. */
async function createWorker() {
  const { person, agent } = await createPair(app.url);
  const env = { RELAY_URL: app.url, RELAY_KEY: agent.secret };
  const user = createUser({ clock, env });
  const pending = () =>
    until(async () => (await person.send("GET /v1/questions")).body.questions[0]);
  const answer = async (text: string, more: object = {}) => {
    const { id } = await pending();
    const body = { answer: text, ...more };
    expect((await person.send(`POST /v1/questions/${id}/answer`, body)).status).toBe(200);
  };
  const count = async () =>
    (await person.send("GET /v1/questions?status=pending,answered,expired,cancelled")).body
      .questions.length;
  const asks = () => readdirSync(join(user.home, ".config/relay/asks"));
  return { person, agent, env, pending, answer, count, asks, ...user };
}

test("relay ask prints the answer, and Yes and No are exit codes", async () => {
  const { start, answer, asks, pending } = await createWorker();
  const cases: [string[], string, number][] = [
    [["Deploy?"], "Yes", 0],
    [["Deploy?"], "No", 1],
    [["Where?", "--choice", "Here", "--choice", "No"], "No", 0],
    [["Name?", "--text"], "first\r\nsecond\u200f\u001b[2J", 0],
    [["Sure?", "--other"], "Tomorrow", 0],
  ];
  for (const [words, text, code] of cases) {
    const asked = start(["ask", ...words]);
    expect((await pending()).prompt).toBe(words[0]);
    await answer(text);
    expect([await asked.code, asked.printed]).toEqual([code, { out: `${text}\n`, err: "" }]);
  }
  expect(asks()).toEqual([]);
});

test("relay ask works without a configuration folder", async () => {
  const { start, answer, pending } = await createWorker();
  const asked = start(["ask", "Deploy?"], { home: "/dev/null" });
  await pending();
  await answer("No");
  expect([await asked.code, asked.printed]).toEqual([1, { out: "No\n", err: "" }]);
});

test("relay ask sends every field that the person needs, and prints the note that comes back", async () => {
  const { home, person, start, answer, pending } = await createWorker();
  writeFileSync(join(home, "diff.md"), "- old\n+ new\n");
  const words = ["ask", "Commit?", "--context", join(home, "diff.md"), "--fallback", "No"];
  const link = ["--link", "https://example.com/1", "--wait", "10m"];
  const asked = start([...words, ...link]);
  const { id, fallback, url, created_at, expires_at } = await pending();
  const { body } = await person.send(`GET /v1/questions/${id}`);
  expect([body.context, fallback, url]).toEqual(["- old\n+ new\n", "No", "https://example.com/1"]);
  expect(expires_at - created_at).toBeCloseTo(600, 2);
  await answer("No", { note: "Not on a Friday" });
  expect([await asked.code, asked.printed]).toEqual([
    1,
    { out: "No\n", err: "Note: Not on a Friday\n" },
  ]);

  const piped = start(["ask", "Commit this?", "--context", "-", "--json"], {
    input: async () => "from a pipe",
  });
  await pending();
  await answer("Yes");
  expect(await piped.code).toBe(0);
  expect(JSON.parse(piped.printed.out)).toMatchObject({
    status: "answered",
    answer: "Yes",
    context: "from a pipe",
  });
});

test("relay ask --draft prints the final text, and says on standard error if it was edited", async () => {
  const { home, start, answer, pending } = await createWorker();
  const draft = "Hello Ada,\r\n\r\nthe build is green.";
  const path = join(home, "draft.txt");
  writeFileSync(path, `\ufeff${draft}\n`);
  for (const [given, out, err] of [
    [draft, `${draft}\n`, ""],
    ["No, not today", "No, not today\n", "The draft was edited.\n"],
  ] as const) {
    const asked = start(["ask", "Send this?", "--draft", path]);
    expect(await pending()).toMatchObject({ kind: "text", draft });
    await answer(given);
    expect([await asked.code, asked.printed]).toEqual([0, { out, err }]);
  }
  const piped = start(["ask", "Send this?", "--text", "--draft", "-", "--json"], {
    input: async () => "from a pipe\n",
  });
  expect((await pending()).draft).toBe("from a pipe");
  await answer("from a pipe");
  expect(await piped.code).toBe(0);
  expect(JSON.parse(piped.printed.out)).toMatchObject({ answer: "from a pipe", edited: false });
});

test("relay ask prints the exact text where no terminal shows it", async () => {
  const { home, start, answer, pending } = await createWorker();
  const path = join(home, "draft.txt");
  const draft = "שלום\u200f (Relay)\r\nline 2\u001b[2J\rend";
  const escaped = "שלום\\u200f (Relay)\nline 2\\u001b[2J\\u000dend\n";
  for (const [at, end] of ["\r\n", "\n", ""].entries()) {
    writeFileSync(path, `${draft}${end}`);
    for (const out_is_terminal of [false, true]) {
      const asked = start(["ask", `Send ${at}?`, "--draft", path], { out_is_terminal });
      expect((await pending()).draft).toBe(draft);
      await answer(draft);
      expect(await asked.code).toBe(0);
      expect(asked.printed.out).toBe(out_is_terminal ? escaped : `${draft}${end}`);
    }
  }
});

test("relay ask names what is wrong with a draft, and asks nothing", async () => {
  const { home, run, start: begin, count } = await createWorker();
  const file = (name: string, content: string | Uint8Array) => {
    const path = join(home, name);
    writeFileSync(path, content);
    return path;
  };
  const wrong: [string[], string][] = [
    [["--draft", file("empty", "")], "empty is empty: a draft needs text"],
    [["--draft", file("blank", " \n\n")], "blank is empty: a draft needs text"],
    [
      ["--draft", file("long", "😀".repeat(4_001))],
      "long is too long: a draft can have at most 4,000 characters",
    ],
    [
      ["--draft", file("huge", "x".repeat(1_000_000))],
      "huge is too long: a draft can have at most 4,000 characters",
    ],
    [["--draft", file("latin", new Uint8Array([0x48, 0xe9, 0x0a]))], "latin is not text in UTF-8"],
    [["--draft", join(home, "nothing")], "nothing cannot be read: check the path"],
    [
      ["--context", "/dev/zero"],
      "/dev/zero is too long: a context can have at most 20,000 characters",
    ],
    [["--context", join(home, "nothing")], "nothing cannot be read: check the path"],
    [["--draft", home], "cannot be read: check the path"],
    [["--draft", "-", "--context", "-"], "only one of --draft and --context can be standard input"],
    [
      ["--draft", "x", "--other"],
      "a draft is answered with a text: leave out --choice and --other",
    ],
    [["--draft", "x", "--choice", "a", "--choice", "b"], "a draft is answered with a text"],
  ];
  for (const [words, why] of wrong) {
    const { code, out, err } = await run(["ask", "Send this?", ...words]);
    expect([code, out]).toEqual([3, ""]);
    expect(err).toContain(why);
  }
  const fatal = async (options: { readonly fatal?: boolean }) => {
    if (options.fatal) throw new TypeError("invalid");
    return "\ufffd";
  };
  const { err } = await run(["ask", "Send this?", "--draft", "-"], { input: fatal });
  expect(err).toContain("standard input is not text in UTF-8");
  // Ctrl-C while another program is still writing the text.
  for (const option of ["--draft", "--context"]) {
    const { promise, reject } = Promise.withResolvers<string>();
    const input = ({ signal }: { readonly signal?: AbortSignal }) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      return promise;
    };
    let reading = false;
    const asked = begin(["ask", "Send this?", option, "-"], {
      input: (options) => {
        reading = true;
        return input(options);
      },
    });
    await until(() => reading);
    asked.interrupt();
    expect([await asked.code, asked.printed.err]).toEqual([
      3,
      "relay: interrupted: nothing was asked\n",
    ]);
  }
  expect(await count()).toBe(0);
  // 4,000 characters of four bytes fit, with a line break at the end.
  const { start, pending, answer } = await createWorker();
  const longest = "😀".repeat(4_000);
  const asked = start(["ask", "Send this?", "--draft", file("longest", `${longest}\r\n`)]);
  expect((await pending()).draft).toBe(longest);
  await answer("ok");
  expect(await asked.code).toBe(0);
});

test("a question that nobody answers exits with 2, and the fallback is printed", async () => {
  const { start, asks } = await createWorker();
  const asked = start(["ask", "Deploy?", "--text", "--wait", "1m", "--fallback", "a\u200f\r\nb"]);
  await until(() => app.waits.count() === 1);
  await clock.advance(51);
  await until(() => app.waits.count() === 1);
  await clock.advance(12);
  expect([await asked.code, asked.printed]).toEqual([
    2,
    {
      out: "a\u200f\r\nb\n",
      err: "Nobody answered in time. Fallback: a\\u200f\\u000d\\u000ab\n",
    },
  ]);
  expect(asks()).toEqual([]);
});

test("Ctrl-C cancels the question and exits with 2", async () => {
  const { person, start, pending, asks } = await createWorker();
  const asked = start(["ask", "Deploy?"]);
  const { id } = await pending();
  await until(() => app.waits.count() === 1);
  asked.interrupt();
  expect([await asked.code, asked.printed.out]).toEqual([2, ""]);
  expect((await person.send(`GET /v1/questions/${id}`)).body.status).toBe("cancelled");
  expect(asks()).toEqual([]);
});

test("relay ask says at once that the server is away, and gives up when the wait is over", async () => {
  const { start } = await createWorker();
  const env = { RELAY_URL: "http://127.0.0.1:1", RELAY_KEY: "mck_x" };
  const said = /^relay: The server cannot be reached; trying until \d\d:\d\d:\d\d\n/;
  const asked = start(["ask", "Deploy?", "--wait", "1m"], { env });
  const stopped = start(["ask", "Deploy now?", "--wait", "1m"], { env });
  await until(() => said.test(asked.printed.err) && said.test(stopped.printed.err));
  stopped.interrupt();
  expect(await stopped.code).toBe(3);
  const may =
    "the question may stay pending until it expires; run the command again to wait for it";
  expect(stopped.printed.err.split("\n")[1]).toBe(
    `relay: interrupted before the server answered: ${may}`,
  );
  await clock.advance(60);
  expect(await asked.code).toBe(3);
  expect(asked.printed.err.split("\n")[1]).toBe(
    "relay: gave up (The server cannot be reached): if a request did arrive, the question stays pending until it expires",
  );
  expect(asked.printed.err.split("\n")).toHaveLength(3);
});

test("Ctrl-C while the server is away says that the question may stay pending", async () => {
  const { start, env, pending } = await createWorker();
  await using front = startFront(app.url, { away: false });
  const asked = start(["ask", "Deploy?"], { env: { ...env, RELAY_URL: front.url } });
  await pending();
  await until(() => app.waits.count() === 1);
  front.away = true;
  asked.interrupt();
  expect(await asked.code).toBe(3);
  expect(asked.printed.err).toBe(
    "relay: the question could not be cancelled and may stay pending until it expires: HTTP 503 that is not from Relay\n",
  );
});

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** A command as a separate process. */
const spawn = (
  words: readonly string[],
  env: Record<string, string>,
  home: string,
  stdout: "pipe" | Bun.BunFile = "pipe",
) =>
  Bun.spawn([process.execPath, MAIN, ...words], {
    env: { ...env, PATH: process.env.PATH ?? "", HOME: home, XDG_CONFIG_HOME: "" },
    cwd: tempFolder(),
    stdout,
    stderr: "pipe",
  });

test("SIGINT to the process cancels the question too, and the exit code is the command's", async () => {
  const { env, home, asks, count } = await createWorker();
  const asked = spawn(["ask", "Deploy?"], env, home);
  await until(() => app.waits.count() === 1);
  asked.kill("SIGINT");
  expect(await asked.exited).toBe(2);
  expect(await new Response(asked.stderr).text()).toBe("The question was cancelled.\n");
  expect([await count(), asks()]).toEqual([1, []]);
});

test("an answer that cannot be written is a fault, and standard error shows the answer", async () => {
  const { env, home, answer, pending } = await createWorker();
  const full = spawn(["ask", "Deploy?"], env, home, Bun.file("/dev/full"));
  await pending();
  await answer("No");
  expect([await full.exited, await new Response(full.stderr).text()]).toEqual([
    3,
    "relay: the answer could not be written (ENOSPC: no space left on device, write): No\n",
  ]);
  const piped = spawn(["ask", "Deploy?", "--json"], env, home);
  await (piped.stdout as ReadableStream).cancel();
  await pending();
  await answer("Yes");
  expect(await piped.exited).toBe(3);
  expect(await new Response(piped.stderr).text()).toContain("could not be written (EPIPE");
});

test("relay ask, killed and started again, waits for the same question, which may have been answered", async () => {
  const { env, start, answer, count, asks, home } = await createWorker();
  const words = ["ask", "Deploy now?", "--choice", "Now", "--choice", "Later"];
  const killed = spawn(words, env, home);
  await until(() => app.waits.count() === 1);
  killed.kill("SIGKILL");
  await killed.exited;
  const [name] = asks();
  const path = join(home, ".config/relay/asks", name!);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).not.toContain("Deploy");
  await answer("Later");
  const again = start(words);
  expect([await again.code, again.printed.out]).toEqual([0, "Later\n"]);
  expect([await count(), asks()]).toEqual([1, []]);
});

test("two asks with the same content have a question each, and an ended question is not resumed", async () => {
  const { start, count, answer, home, asks } = await createWorker();
  const first = start(["ask", "Same?"]);
  await until(async () => (await count()) === 1);
  const [name] = asks();
  const path = join(home, ".config/relay/asks", name!);
  const kept = JSON.parse(readFileSync(path, "utf8"));
  // The id of a running process other than this one.
  writeFileSync(path, JSON.stringify({ ...kept, pid: process.ppid }));
  const second = start(["ask", "Same?"]);
  await until(async () => (await count()) === 2);
  await answer("Yes");
  await answer("Yes");
  expect(await Promise.all([first.code, second.code])).toEqual([0, 0]);
  mkdirSync(join(home, ".config/relay/asks"), { recursive: true });
  writeFileSync(path, JSON.stringify({ ...kept, pid: 0x7fffffff, expires_at: clock.now() - 1 }));
  const third = start(["ask", "Same?"]);
  await until(async () => (await count()) === 3);
  await answer("No");
  expect(await third.code).toBe(1);
});

test("relay ask and the hooks stop reading standard input that has no end", async () => {
  const { env } = await createWorker();
  const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
  const cases: [string[], string][] = [
    [["ask", "Too long", "--context", "-"], "a context can have at most 20,000 characters"],
    [["ask", "Too long", "--draft", "-"], "a draft can have at most 4,000 characters"],
    [["login", app.url, "--with-key"], "standard input is larger than 4 KiB"],
  ];
  for (const [words, why] of cases) {
    const child = Bun.spawn([process.execPath, program, ...words], {
      stdin: Bun.file("/dev/zero"),
      stdout: "pipe",
      stderr: "pipe",
      env: { PATH: process.env.PATH, HOME: tempFolder(), ...env },
    });
    expect(await child.stderr.text()).toContain(why);
    expect(await child.exited).toBe(3);
    // A child begins with the largest memory of its parent.
    const begun_with = process.resourceUsage().maxRSS * 1024;
    expect(child.resourceUsage()!.maxRSS).toBeLessThan(begun_with + 400 * 1024 * 1024);
  }
});
