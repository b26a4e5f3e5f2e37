/** `bun run screenshots`: screenshots of the page's main views for the documents, in a real browser. */

import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { startRelay } from "../bench/process.ts";
import { createScene } from "../test/web/scene.ts";

const FOLDER = fileURLToPath(new URL("../docs/screenshots/", import.meta.url));

const SIZES = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1 },
  desk: { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 },
} as const;

/** The views, and the colour scheme of each. */
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

const store = mkdtempSync(join(tmpdir(), "relay-screenshots-"));
const children: Bun.Subprocess[] = [];
const browser = await chromium.launch({
  executablePath: Bun.which("chromium")!,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
try {
  const { port } = await startRelay(store, children);
  const url = `http://127.0.0.1:${port}`;
  const { person, views } = await createScene(url);
  const localStorage = [{ name: "relay.token", value: person.token }];
  await mkdir(FOLDER, { recursive: true });
  for (const [size, options] of Object.entries(SIZES)) {
    for (const [view, colorScheme] of PICTURES) {
      const context = await browser.newContext({
        ...options,
        colorScheme,
        reducedMotion: "reduce",
        storageState: { cookies: [], origins: [{ origin: url, localStorage }] },
      });
      const page = await context.newPage();
      await page.goto(`${url}/${views[view]}`);
      await page.locator("[data-link=live]").waitFor({ state: "attached" });
      await page.getByLabel(/^Loading/).waitFor({ state: "detached" });
      // The counts come one after the other.
      if (view === "agents") await page.getByText("3 unread").waitFor();
      await page.evaluate(() => document.fonts.ready.then(() => null));
      await page.screenshot({ path: `${FOLDER}${view}-${size}-${colorScheme}.png` });
      await context.close();
    }
  }
} finally {
  await browser.close();
  for (const child of children) child.kill("SIGKILL");
  rmSync(store, { recursive: true, force: true });
}
