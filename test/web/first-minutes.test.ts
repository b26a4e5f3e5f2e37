/**
 * The first minutes, measured: from an empty folder to an answer from a phone, while Relay is reached by nothing but a
 * browser on its own machine.
 */

import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { client, createAgent, type Person } from "../support/client.ts";
import { measureSlowdown } from "../support/cpu-share.ts";
import { printFigures } from "../support/figures.ts";
import { type Published, startNtfy, tap } from "../support/ntfy.ts";
import { startProcess } from "../support/process.ts";
import { startTelegram } from "../support/telegram.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, openPage } from "./browser.ts";

const webTest = browserTests();
const ntfy = await startNtfy();
const telegram = await startTelegram({ strict: false });

/** What a person does to be reached: presses in the page, and secrets that they copy into it. */
interface Effort {
  actions: number;
  secrets: number;
}

/** Most presses in the page for a way, and seconds for everything if the machine does nothing else. */
const BOUNDS = { actions: 3, seconds: 20 };

interface Way {
  /** Sets the way up until the page waits for the answered test. Returns what presses a button on the phone. */
  choose(page: Page, effort: Effort): Promise<(label: string) => Promise<unknown>>;
  readonly secrets: number;
}

const press = async (page: Page, name: string | RegExp, effort: Effort) => {
  await page.getByRole("button", { name }).click();
  effort.actions++;
};

const WAYS: Readonly<Record<string, Way>> = {
  ntfy: {
    secrets: 0,
    async choose(page, effort) {
      await press(page, /^ntfy/, effort);
      await press(page, "Make a topic", effort);
      const topic = (await page.locator("pre").textContent())!;
      await press(page, /^3\. I've subscribed/, effort);
      /** The newest notification with this button. Nothing in it leads to Relay. */
      const shown = (label: string) =>
        until(() => ntfy.published.findLast((one) => one.topic === topic && has(one, label)));
      return async (label) => {
        const notification = await shown(label);
        for (const { url } of notification.actions as { url: string }[]) {
          expect(new URL(url).origin).toBe(ntfy.url);
        }
        expect(notification.click).toBeUndefined();
        expect(await tap(notification, label)).toBe(200);
      };
    },
  },
  Telegram: {
    secrets: 1,
    async choose(page, effort) {
      // The server has no bot, so the token is asked for.
      expectComplaints(/422/);
      const bot = telegram.newBot("my_own_bot");
      await press(page, /^Telegram/, effort);
      await page.getByLabel("Token of the bot").fill(bot.token);
      effort.secrets++;
      await press(page, "Continue", effort);
      const link = await page
        .getByRole("link", { name: "Open Telegram here" })
        .getAttribute("href");
      const user = telegram.newUser();
      user.start(bot, new URL(link!).searchParams.get("start")!);
      await press(page, "Yes, confirm", effort);
      const shown = (label: string) =>
        until(() =>
          user
            .chat(bot)
            .findLast(({ buttons }) => buttons.flat().some(({ text }) => text === label)),
        );
      return async (label) => user.tap(bot, await shown(label), label);
    },
  },
};

const has = ({ actions = [] }: Published, label: string) =>
  (actions as { label: string }[]).some((one) => one.label === label);

for (const [name, { choose, secrets }] of Object.entries(WAYS)) {
  webTest(
    `an answer from a phone by ${name}, from an empty folder, with outgoing connections alone`,
    async () => {
      const allowed = await measureSlowdown();
      const begun = performance.now();
      const relay = await startProcess({
        DATABASE_URL: `file:${tempFolder()}/relay.db`,
        NTFY_SERVER: ntfy.url,
        TELEGRAM_API_ROOT: telegram.url,
        OUTBOUND_PRIVATE: "127.0.0.0/8",
      });
      expect(new URL(relay.url).hostname).toBe("127.0.0.1");
      const page = await openPage(relay.url);
      const opened = performance.now();
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
      const token = (await page.evaluate(() => localStorage.getItem("relay.token")))!;
      await page.getByRole("button", { name: "Continue" }).click();
      const effort: Effort = { actions: 0, secrets: 0 };
      const pressOnPhone = await choose(page, effort);
      await page.getByText("Tap It works in the notification").waitFor();
      await pressOnPhone("It works");
      const reached = (await page.getByText(/^Reached you in/).textContent())!;
      const set_up = performance.now();

      const person = { token, send: client(relay.url, token) } as Person;
      const agent = await createAgent(relay.url, person, "builder");
      const { body: question } = await agent.send("POST /v1/questions", { prompt: "Ship it?" });
      const waiting = agent.send(`GET /v1/questions/${question.id}?wait=50`);
      await pressOnPhone("Yes");
      expect((await waiting).body).toMatchObject({ status: "answered", answer: "Yes" });
      const seconds = (from: number) => (performance.now() - from) / 1_000;
      const total = seconds(begun);
      const most = await allowed(BOUNDS.seconds);
      printFigures(
        `${name}: ${effort.actions} actions, ${effort.secrets} secrets, "${reached}"; ` +
          `page open after ${((opened - begun) / 1_000).toFixed(1)} s, reached after ${((set_up - begun) / 1_000).toFixed(1)} s, ` +
          `answered from the phone after ${total.toFixed(1)} s; ` +
          `others slowed it down ${(most / BOUNDS.seconds).toFixed(1)} times`,
      );
      expect(effort.actions).toBeLessThanOrEqual(BOUNDS.actions);
      expect(effort.secrets).toBe(secrets);
      expect(total).toBeLessThan(most);
      expect([ntfy.faults, telegram.faults]).toEqual([[], []]);
    },
  );
}
