/** A real browser for tests of the pages, with a new profile for each person. */

import { afterAll, afterEach, expect, test } from "bun:test";
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import type { Person } from "../support/client.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

/** The system's browser: apt-get install chromium. */
const CHROMIUM = Bun.which("chromium");
/** The engine without the browser around it, if installed: half the CPU time. */
const HEADLESS_SHELL = Bun.which("chromium-headless-shell");

/** A name of this machine that the browser does not trust over plain http, like a LAN address. */
export const LAN_NAME = "relay-lan";

/**
 * Browser features that are off: those that Playwright switches off (this switch replaces its own), and the
 * pages behind the address bar, which took the full browser more CPU time than Relay's page.
 */
const FEATURES_OFF = [
  ...["AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"],
  ...["DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"],
  ...["LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"],
  ...["PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"],
  ...["WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxPopup"],
];

const ARGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  `--disable-features=${FEATURES_OFF.join()}`,
  `--host-resolver-rules=MAP ${LAN_NAME} 127.0.0.1`,
];

/** Milliseconds that a browser may take for anything: seconds become a minute on a busy machine. */
const LIMIT = 100_000;

export const PHONE = { width: 390, height: 844 };
export const DESK = { width: 1440, height: 900 };

/** True in a run of the suite: the files of a process share a browser, which ends with the process. */
const SHARED = process.env.RELAY_TEST_SUITE === "1";

/** Running browsers, by executable. */
const browsers = new Map<string, Promise<Browser>>();

/** Executable for the current test file. */
let path = HEADLESS_SHELL ?? CHROMIUM;
/** Whether pages of the current test file have the service worker. */
let with_worker = false;

function launch(executablePath: string): Promise<Browser> {
  let browser = browsers.get(executablePath);
  if (!browser) {
    browser = chromium.launch({ executablePath, args: ARGS, timeout: LIMIT });
    browsers.set(executablePath, browser);
    // A crash fails only its own file.
    void browser.then((one) => one.once("disconnected", () => browsers.delete(executablePath)));
  }
  return browser;
}

interface OpenOptions {
  /** The person who is signed in; nobody when absent. */
  readonly as?: Pick<Person, "token">;
  readonly size?: typeof PHONE;
  readonly scheme?: "light" | "dark";
  readonly at?: string;
  /** A touch screen. */
  readonly touch?: true;
  /** Language of the browser, such as `de-DE`; `en-US` when absent. */
  readonly locale?: string;
  /** `block`: a browser without service workers, or plain http. By default, the test file decides. */
  readonly serviceWorkers?: "block";
}

/** Browsers of the current test file. */
const own_browsers: BrowserContext[] = [];

const complaints: string[] = [];

/** What Playwright logs with `serviceWorkers: "block"`. */
const BLOCKED = /^Service Worker registration blocked by Playwright/;

/** Console messages that the test expects. */
let expected: RegExp | null = null;
export function expectComplaints(pattern: RegExp): void {
  expected = pattern;
}

/**
 * Called once at the top of a test file; returns its `test` function. A test fails on any unexpected
 * console message, violations of the content security policy included.
 * The headless shell has no notifications: a file about them asks for the full browser. Pages have
 * a service worker only in a file that asks for it, since it takes a fifth of a page's CPU time.
 */
export function browserTests({ notifications = false, worker = false } = {}) {
  with_worker = worker || notifications;
  path = notifications ? CHROMIUM : (HEADLESS_SHELL ?? CHROMIUM);
  afterEach(() => {
    const found = complaints.splice(0).filter((text) => !expected?.test(text));
    expected = null;
    expect(found).toEqual([]);
  });
  afterAll(async () => {
    for (const context of own_browsers.splice(0)) await close(context);
    if (SHARED) return;
    for (const browser of browsers.values()) await (await browser).close();
  });
  return test.if(path !== null);
}

/** A new profile for the page of this server. */
export async function openProfile(url: string, options: OpenOptions = {}): Promise<BrowserContext> {
  const context = await (await launch(path!)).newContext(settingsOf(options));
  await context.addInitScript(SKIPPABLE);
  // Ends with the test, before a server that the test started: otherwise its pages would complain.
  afterAll(() => close(context));
  if (options.as) await signIn(context, url, options.as.token);
  return listenTo(context);
}

/** A test's route may be handling a request of the page, which then fails. */
async function close(context: BrowserContext): Promise<void> {
  for (const one of [context, ...context.pages()]) {
    await one.unrouteAll({ behavior: "ignoreErrors" });
  }
  await context.close();
}

/**
 * A browser of its own, with a profile on disk: only such a profile subscribes to pushes. Without `headless`
 * it has a window. `preferences`: of the profile, as Chromium keeps them. The browser ends with the file.
 */
export async function openOwnBrowser(
  args: readonly string[],
  headless: boolean,
  preferences: object = {},
): Promise<BrowserContext> {
  const profile = tempFolder();
  await Bun.write(`${profile}/Default/Preferences`, JSON.stringify(preferences));
  const context = await chromium.launchPersistentContext(profile, {
    ...settingsOf({}),
    executablePath: path!,
    headless,
    args: [...ARGS, ...args],
    timeout: LIMIT,
  });
  own_browsers.push(context);
  return listenTo(context);
}

function settingsOf(options: OpenOptions) {
  const { size = DESK, scheme = "light", touch = false, locale = "en-US" } = options;
  const { serviceWorkers = with_worker ? "allow" : "block" } = options;
  return {
    viewport: size,
    colorScheme: scheme,
    reducedMotion: "reduce",
    hasTouch: touch,
    locale,
    isMobile: touch,
    serviceWorkers,
  } as const;
}

/** From now on the test fails on unexpected console messages of this context. */
function listenTo(context: BrowserContext): BrowserContext {
  context.setDefaultTimeout(LIMIT);
  context.on("console", (message) => {
    const text = message.text();
    if (message.type() !== "debug" && !BLOCKED.test(text)) complaints.push(text);
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  return context;
}

/**
 * Leaves the token where the page keeps it. A cookie carries it to the first document that loads;
 * Playwright's `storageState` would load a page of its own to do the same.
 */
export async function signIn(context: BrowserContext, url: string, token: string): Promise<void> {
  await context.addCookies([{ name: "sign-in", value: token, url }]);
  await context.addInitScript(() => {
    // The empty document of a new tab has no cookies.
    if (origin === "null") return;
    const [, token] = /\bsign-in=([^;]+)/.exec(document.cookie) ?? [];
    if (!token) return;
    localStorage.setItem("relay.token", token);
    // biome-ignore lint/suspicious/noDocumentCookie: only Chromium runs this, in a page over http.
    document.cookie = "sign-in=; max-age=0";
  });
}

/** Opens the page in a new profile; with `as`, it is live when this resolves. */
export async function openPage(url: string, options: OpenOptions = {}): Promise<Page> {
  const context = await openProfile(url, options);
  const page = await context.newPage();
  await page.goto(`${url}/${options.at ?? ""}`);
  if (options.as) await untilLive(page);
  return page;
}

/** Opens a tab that has the focus only while in front; by default every tab has the focus. */
export async function openTab(context: BrowserContext, at: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(at);
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setFocusEmulationEnabled", { enabled: false });
  return page;
}

/**
 * Brings a tab of {@link openTab} to the front. The pages in `away` learn a moment later that they lost the
 * focus, and until then treat what arrives as seen, so this waits for them.
 */
export async function lookAt(tab: Page, { away }: { readonly away: readonly Page[] }) {
  await tab.bringToFront();
  for (const page of away) await until(() => page.evaluate(() => !document.hasFocus()));
  await until(() => tab.evaluate(() => document.hasFocus()));
}

/** Goes offline once the page's own files are cached, so that the page can continue. */
export async function goOffline(page: Page): Promise<void> {
  expectComplaints(/Failed to load resource|ERR_/);
  await until(() =>
    page.evaluate(async () => {
      const { active } = await navigator.serviceWorker.ready;
      return active?.state === "activated";
    }),
  );
  await page.context().setOffline(true);
  await page.getByText(/^Offline\./).waitFor();
}

/** The card of a question with this text. */
export const card = (page: Page, text: string) => page.locator("article", { hasText: text });

/** A question with this text under **History**. */
export const inHistory = (page: Page, text: string) =>
  page.locator("section", { hasText: "History" }).locator("li", { hasText: text });

export async function untilLive(page: Page): Promise<void> {
  await page.locator("[data-connection=live]").waitFor({ state: "attached" });
}

/** The token of the sign-in that the page has kept; null without one. */
export const tokenIn = (page: Page) => page.evaluate(() => localStorage.getItem("relay.token"));

/** What the page has saved in IndexedDB. */
export function keptIn(page: Page, table: "about" | "tasks" | "questions") {
  return page.evaluate(
    (name) =>
      new Promise<Readonly<Record<string, unknown>>[]>((resolve) => {
        const opening = indexedDB.open("relay");
        opening.onsuccess = () => {
          const getting = opening.result.transaction(name).objectStore(name).getAll();
          getting.onsuccess = () => resolve(getting.result);
        };
      }),
    table,
  );
}

/** Names of the drafts in this tab. */
export function draftsIn(page: Page): Promise<string[]> {
  return page.evaluate(() => Object.keys(sessionStorage).filter((name) => /draft\./.test(name)));
}

/** Navigates within the page, like a link. */
export async function go(page: Page, to: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `/${to}`);
}

/** Lets {@link untilSteady} advance the page's monotonic clock, and {@link withTimeHeld} stop it. */
const SKIPPABLE = () => {
  const real = performance.now.bind(performance);
  let ahead = 0;
  let held: number | null = null;
  performance.now = () => held ?? real() + ahead;
  addEventListener("skip-time", (event) => {
    ahead += (event as CustomEvent<number>).detail;
  });
  addEventListener("hold-time", (event) => {
    const now = performance.now();
    ahead = now - real();
    held = (event as CustomEvent<boolean>).detail ? now : null;
  });
};

/** Does something while the page's monotonic clock stands still, so that it counts as quick on a busy machine. */
export async function withTimeHeld(page: Page, work: () => Promise<void>): Promise<void> {
  const hold = (detail: boolean) =>
    page.evaluate((one) => {
      dispatchEvent(new CustomEvent("hold-time", { detail: one }));
    }, detail);
  await hold(true);
  await work();
  await hold(false);
}

/**
 * Resolves once the element has kept its position for so long, by the page's monotonic clock, that a click
 * counts. The clock is advanced, unless the test has installed another one.
 */
export async function untilSteady(what: Locator): Promise<void> {
  await what.evaluate(
    (element) =>
      new Promise<void>((resolve) => {
        let position = "";
        let since = 0;
        const check = () => {
          const { top, height } = element.getBoundingClientRect();
          const now = performance.now();
          if (`${top} ${height}` !== position) {
            position = `${top} ${height}`;
            since = now;
          }
          if (now - since > 600) return resolve();
          if (now - since > 100) dispatchEvent(new CustomEvent("skip-time", { detail: 600 }));
          // Not at each frame: requesting a frame makes the browser paint one.
          setTimeout(check, 50);
        };
        check();
      }),
  );
}

/**
 * Clicks a button once it is in view and {@link untilSteady} resolves: if the button moves between press
 * and release, the browser sends it no click.
 */
export async function press(button: Locator): Promise<void> {
  // The page may replace the button meanwhile: the locator then finds the new one.
  await button.scrollIntoViewIfNeeded().catch(() => button.scrollIntoViewIfNeeded());
  await untilSteady(button);
  await button.click();
}
