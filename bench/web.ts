/**
 * `bun run bench:web`: the person's page in a real browser: how soon it can be used, and how many
 * frames a second it draws while one scrolls through 10,000 tasks and 100 of them change a second.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { post, startRelay } from "./process.ts";

const TASKS = 10_000;
/** Changes of tasks a second. */
const CHANGES = 100;
/** Seconds of scrolling. */
const SECONDS = 10;
/** Pixels a second. */
const SPEED = 1_200;

/** An event of the browser's trace; `ts` in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly ts: number;
}

const folder = mkdtempSync(join(tmpdir(), "relay-bench-"));
const children: Bun.Subprocess[] = [];
let browser: Browser | undefined;

const print = (line: string) => process.stdout.write(`${line}\n`);

/** A page of a new profile that is signed in. */
async function signedIn(url: string, token: string): Promise<Page> {
  const context = await browser!.newContext({
    viewport: { width: 390, height: 844 },
    storageState: {
      cookies: [],
      origins: [{ origin: url, localStorage: [{ name: "relay.token", value: token }] }],
    },
  });
  return context.newPage();
}

/** Milliseconds from the navigation until the question can be answered. */
async function usable(page: Page, url: string): Promise<number> {
  await page.goto(url, { waitUntil: "commit" });
  await page.getByRole("button", { name: "Yes" }).waitFor();
  return Math.round(await page.evaluate("performance.now()"));
}

/** What the browser traced while `work` went on. */
async function traced(session: CDPSession, work: () => Promise<unknown>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  await session.send("Tracing.start", {
    traceConfig: {
      includedCategories: [
        "disabled-by-default-devtools.timeline.frame",
        "devtools.timeline.frame",
      ],
    },
    transferMode: "ReportEvents",
  });
  await work();
  const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await complete;
  return events;
}

/** Scrolls to and fro, and tells what was drawn meanwhile. */
async function scrolled(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const scroll = (distance: number) =>
    session.send("Input.synthesizeScrollGesture", {
      x: 195,
      y: 400,
      yDistance: distance,
      speed: SPEED,
      gestureSourceType: "mouse",
    });
  const events = await traced(session, async () => {
    for (let moved = 0; moved < SECONDS; moved += 3) {
      await scroll(-2 * SPEED);
      await scroll(SPEED);
    }
  });
  const drawn = events
    .filter(({ name }) => name === "DrawFrame")
    .map(({ ts }) => ts / 1_000)
    .sort((a, b) => a - b);
  const [first, last] = [drawn[0]!, drawn.at(-1)!];
  const gaps = drawn.slice(1).map((at, i) => at - drawn[i]!);
  gaps.sort((a, b) => a - b);
  let slowest = Number.POSITIVE_INFINITY;
  for (let from = first; from + 1_000 <= last; from += 100) {
    slowest = Math.min(slowest, drawn.filter((at) => at >= from && at < from + 1_000).length);
  }
  const rate = ((drawn.length * 1_000) / (last - first)).toFixed(1);
  const p99 = gaps[Math.floor(gaps.length * 0.99)]!.toFixed(0);
  // What scrolls into sight is drawn by the main thread: it must keep up too.
  const made = events.filter(({ name }) => name === "BeginMainThreadFrame").length;
  const main = ((made * 1_000) / (last - first)).toFixed(1);
  return `${rate} frames/s (main thread ${main}), ${slowest} in the slowest second, p99 of the gaps ${p99} ms`;
}

try {
  const { port } = await startRelay(folder, children);
  const url = `http://127.0.0.1:${port}`;
  const create = async () => {
    const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "b" }, token);
    await post(port, "/v1/questions", { prompt: "Go on?" }, secret);
    return { token, secret };
  };
  const small = await create();
  const large = await create();
  const ids: string[] = [];
  for (let made = 0; made < TASKS; made += 100) {
    const body = { title: "Release", status: "in_progress" };
    const some = Array.from({ length: 100 }, () =>
      post<{ id: string }>(port, "/v1/tasks", body, large.secret),
    );
    ids.push(...(await Promise.all(some)).map(({ id }) => id));
  }

  browser = await chromium.launch({
    executablePath: Bun.which("chromium")!,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  const first = await usable(await signedIn(url, small.token), url);
  print(`usable, the first page since the start of the server: ${first} ms`);
  const times: number[] = [];
  for (let i = 0; i < 5; i++) times.push(await usable(await signedIn(url, small.token), url));
  print(
    `usable, a browser that never was there: ${times.sort((a, b) => a - b)[2]} ms (median of 5)`,
  );
  const again = await signedIn(url, small.token);
  await usable(again, url);
  await again.evaluate("navigator.serviceWorker.ready.then(() => 0)");
  print(`usable, one that was: ${await usable(again, url)} ms`);

  const bare = await signedIn(url, small.token);
  const rows = `<p style="padding:20px;border:1px solid">Release<br>Step</p>`.repeat(1_000);
  await bare.setContent(rows);
  print(`bare, a page of 1,000 paragraphs: ${await scrolled(bare)}`);
  await bare.close();

  const page = await signedIn(url, large.token);
  await page.goto(`${url}/#/tasks`);
  await page.locator("[data-link=live]").waitFor({ state: "attached" });
  print(`${TASKS} tasks loaded: ${Math.round(await page.evaluate("performance.now()"))} ms`);
  print(`no changes: ${await scrolled(page)}`);
  let changes = 0;
  const change = async () => {
    const id = ids[Math.floor(Math.random() * ids.length)]!;
    const patch = {
      progress: Math.floor(Math.random() * 100),
      status_note: `Step ${changes++}`,
      // One in ten also gets another place in the list.
      ...(changes % 10 === 0 && { priority: changes % 20 === 0 ? "high" : "low" }),
    };
    await fetch(`${url}/v1/tasks/${id}`, {
      method: "PATCH",
      headers: { "content-type": "application/json", authorization: `Bearer ${large.secret}` },
      body: JSON.stringify(patch),
    });
  };
  const started = performance.now();
  const timer = setInterval(() => void change(), 1_000 / CHANGES);
  const result = await scrolled(page);
  clearInterval(timer);
  const rate = Math.round((changes * 1_000) / (performance.now() - started));
  print(`${rate} changes/s: ${result}`);
} finally {
  await browser?.close();
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
