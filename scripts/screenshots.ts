/** `bun run screenshots`: takes pictures of the page's main views for the documents, in a real browser. */

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { createPlace } from "../bench/place.ts";
import { startRelay } from "../bench/process.ts";
import { callHook, commandOf } from "../test/support/approve.ts";
import type { Agent } from "../test/support/client.ts";
import { until } from "../test/support/until.ts";
import { createScene } from "../test/web/scene.ts";

const FOLDER = fileURLToPath(new URL("../docs/screenshots/", import.meta.url));

const SIZES = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1 },
  desk: { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 },
} as const;

type Scheme = "light" | "dark";

/** The views with their colour schemes. */
const PICTURES = [
  ["questions", "light"],
  ["questions", "dark"],
  ["tasks", "light"],
  ["tasks", "dark"],
  ["task", "light"],
  ["agents", "light"],
  ["inbox", "light"],
  ["account", "light"],
] as const;

/** Permission requests of a coding agent, for docs/permissions.md. */
const REQUESTS = [
  {
    tool_input: {
      command: "git push --force-with-lease origin billing-api && bun run deploy --to staging",
      description: "Publish the branch and deploy it to staging",
    },
  },
  {
    tool_name: "Edit",
    tool_input: {
      file_path: "/home/ann/billing/src/totals.ts",
      old_string: "export const total = (lines) =>\n  sum(lines.map(round));",
      new_string: "export const total = (lines) =>\n  round(sum(lines));",
    },
  },
];

async function askPermission(url: string, { secret }: Agent): Promise<void> {
  const session = { session_id: "7c1e52a9-4d0f", cwd: "/home/ann/billing" };
  const headers = { "x-agent-host": "studio.local" };
  for (const request of REQUESTS) {
    await callHook(url, secret, commandOf("", { ...session, ...request }), { headers });
  }
}

/** What the page shows without the services: their answers are given here. */
const NTFY = {
  channel: { id: "chn_0", replies: true },
  url: "https://ntfy.sh/relay-5d1f83a09c4e7b26",
};
const TELEGRAM = {
  id: "lnk_0",
  link: "https://t.me/relay_home_bot?start=q3V8sN1xTf0aLr6Yw2ZkPd",
  from: null,
};

const place = createPlace("relay-screenshots");
const browser = await chromium.launch({
  executablePath: Bun.which("chromium")!,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  // Signals end the place, and with it the process and its browser.
  handleSIGINT: false,
  handleSIGTERM: false,
  handleSIGHUP: false,
});
try {
  const { port } = await startRelay(place.folder, place.children);
  const url = `http://127.0.0.1:${port}`;
  const { person, laptop, views } = await createScene(url);
  const localStorage = [{ name: "relay.token", value: person.token }];
  await mkdir(FOLDER, { recursive: true });
  const take = async (view: string, at: string, size: keyof typeof SIZES, scheme: Scheme) => {
    const context = await browser.newContext({
      ...SIZES[size],
      colorScheme: scheme,
      reducedMotion: "reduce",
      storageState: { cookies: [], origins: [{ origin: url, localStorage }] },
    });
    const page = await context.newPage();
    await page.goto(`${url}/${at}`);
    await page.locator("[data-connection=live]").waitFor({ state: "attached" });
    await page.getByLabel(/^Loading/).waitFor({ state: "detached" });
    // The counts load one after the other.
    if (view === "agents") await page.getByText("3 unread").waitFor();
    // The button is enabled once the request was in view for a moment.
    if (view === "permission") {
      await page.locator("article button:not([aria-disabled])", { hasText: "Allow" }).waitFor();
    }
    await page.evaluate(() => document.fonts.ready.then(() => null));
    await page.screenshot({ path: `${FOLDER}${view}-${size}-${scheme}.png` });
    await context.close();
  };
  /** The set-up of a way, for docs/notifications.md; `press`: the buttons that lead to it. */
  const takeWay = async (view: string, press: readonly RegExp[]) => {
    const context = await browser.newContext({
      ...SIZES.phone,
      reducedMotion: "reduce",
      storageState: { cookies: [], origins: [{ origin: url, localStorage }] },
    });
    await context.grantPermissions(["notifications"]);
    const page = await context.newPage();
    const answer = (procedure: string, data: object) =>
      page.route(`**/trpc/channels.${procedure}**`, (route) =>
        route.fulfill({ json: { result: { data } } }),
      );
    const expires_at = Date.now() / 1000 + 600;
    // Without the internet the server would find no public host.
    await answer("check", { problem: null });
    await answer("create", NTFY);
    await answer("createLink", { ...TELEGRAM, expires_at });
    await answer("getLink", { ...TELEGRAM, expires_at });
    await page.goto(`${url}/#/reach`);
    for (const name of press) await page.getByRole("button", { name }).click();
    await (press.length > 0
      ? page.getByRole("img")
      : page.getByRole("button", { name: /^This browser/ })
    ).waitFor();
    await page.evaluate(() => document.fonts.ready.then(() => null));
    await page.screenshot({ path: `${FOLDER}${view}-phone-light.png`, fullPage: true });
    await context.close();
  };
  await takeWay("reach", []);
  await takeWay("reach-ntfy", [/^ntfy/, /^Make a topic/]);
  await takeWay("reach-telegram", [/^Telegram/]);
  for (const size of ["phone", "desk"] as const) {
    for (const [view, scheme] of PICTURES) await take(view, views[view]!, size, scheme);
  }
  await askPermission(url, laptop);
  const asked = async () => {
    const { body } = await person.send("GET /v1/questions");
    return body.questions.filter((one: { readonly action?: object }) => one.action);
  };
  const [edit, command] = await until(async () => {
    const found = await asked();
    return found.length === REQUESTS.length && found;
  });
  await take("permission", `#/questions/${command.id}`, "phone", "light");
  await take("permission", `#/questions/${edit.id}`, "desk", "dark");
} finally {
  await browser.close();
  await place.end();
}
