/**
 * From an empty folder to the first answer on a phone, as a person does it: the real process in a
 * terminal, a desktop browser on loopback, a phone on the network over plain http, and an agent that
 * signs in by OAuth. The test counts the steps and prints how long they took.
 */

import { expect } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import type { Locator, Page } from "playwright-core";
import { lanAddresses } from "../../src/http/base-address.ts";
import { readText, sectionOf } from "../support/documents.ts";
import { connectInBrowser } from "../support/oauth-client.ts";
import { startAtTerminal } from "../support/process.ts";
import { readQr, readTerminalQr } from "../support/qr.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  expectComplaints,
  openPage,
  openProfile,
  PHONE,
  untilLive,
  untilSteady,
} from "./browser.ts";

const webTest = browserTests();

/** Milliseconds for everything, however busy the machine. */
const DEADLINE = 300_000;

/** README's story: the person does what it says. */
const story = sectionOf(await readText("README.md"), "On your phone");

/** The buttons and links that it names, in order. */
type Words = [string, string, string, string, string, string, string, string, string, string];

const QUESTION = "Can you see this question?";

/** Account tokens, keys and OAuth tokens. */
const SECRET = /\bmc[a-z]_[\w-]{20,}/;

/** What the person does. Whatever passes from one screen to another goes through a camera or `paste`. */
function createJoining() {
  const began = performance.now();
  const steps: string[] = [];
  const pasted: string[] = [];
  return {
    step<T>(what: string, act: () => Promise<T>): Promise<T> {
      steps.push(what);
      return act();
    },
    paste(text: string): string {
      pasted.push(text);
      return text;
    },
    counts: () => ({
      steps: steps.length,
      lines_pasted: pasted.join("\n").split("\n").length,
      secrets_copied: pasted.filter((text) => SECRET.test(text)).length,
    }),
    seconds: () => (performance.now() - began) / 1000,
  };
}

webTest(
  "from a first start to an answer on the phone in six steps, one pasted line and no secret",
  async () => {
    // Chromium says that it ignores this header at an address that it does not trust.
    expectComplaints(/Cross-Origin-Opener-Policy header has been ignored/);
    const words = [...story.matchAll(/\*\*(.+?)\*\*/gs)].map(([, word]) =>
      word!.replace(/\s+/, " "),
    );
    expect(words).toHaveLength(10);
    const [create, next, later, account, add, join_in, agents, new_agent, approve, yes] =
      words as Words;
    const { step, paste, counts, seconds } = createJoining();

    const relay = await step("start Relay", () =>
      startAtTerminal(
        { ...variablesIn(story), DATABASE_URL: `file:${join(tempFolder(), "relay.db")}` },
        readTerminalQr,
      ),
    );
    const [, here = ""] = /create the first account at (\S+)/.exec(relay.shown()) ?? [];
    const { origin, hash, hostname } = new URL(here);
    expect(hostname).toBe("127.0.0.1");
    // A phone's camera would get the same code.
    const shown = new URL(readTerminalQr(relay.shown())!);
    expect(shown.hash).toBe(hash);
    // A phone needs a network, so a machine without one fails here.
    expect(lanAddresses(networkInterfaces())).toContain(shown.hostname);

    const desk = await step("open the address that it prints, and create the account", async () => {
      const page = await openPage(origin, { at: hash });
      await page.getByRole("button", { name: create }).click();
      await page.getByRole("button", { name: next }).click();
      await page.getByRole("button", { name: later }).click();
      await untilLive(page);
      return page;
    });

    const phone = await step("add a device: scan the code of the page with the phone", async () => {
      await desk.getByRole("link", { name: account }).click();
      await desk.getByRole("button", { name: add }).click();
      const scanned = new URL(await scan(desk, "QR code that adds a device"));
      expect(scanned.origin).toBe(shown.origin);
      const page = await openPhone(scanned);
      await tap(page.getByRole("button", { name: join_in }));
      await untilLive(page);
      await desk.getByText(/ signed in$/).waitFor();
      await desk.getByRole("button", { name: "Done" }).click();
      return page;
    });

    const line = await step("paste the line for the agent into a terminal", async () => {
      await desk.getByRole("link", { name: agents }).click();
      await desk.getByRole("link", { name: new_agent }).click();
      await desk.getByLabel("Client").selectOption("Codex");
      return paste((await desk.locator("pre").first().textContent())!);
    });
    const [url = ""] = /http:\S+\/mcp$/.exec(line) ?? [];
    expect(url).toBe(`${origin}/mcp`);

    const agent = await step("approve it in the browser that it opens", () =>
      connectInBrowser({
        url,
        name: "Codex",
        open: async (address) => {
          const page = await desk.context().newPage();
          await page.goto(address.href);
          const button = page.getByRole("button", { name: approve });
          await untilSteady(button);
          await button.click();
        },
      }),
    );
    await desk.getByText("Connected: Codex").waitFor();

    const answer = ask(agent);
    await step("answer its question on the phone", async () => {
      await phone.getByText(QUESTION).waitFor();
      await tap(phone.getByRole("button", { name: yes }));
    });
    expect(await answer).toMatchObject({ status: "answered", answer: "Yes" });

    const took = seconds();
    expect(counts()).toEqual({ steps: 6, lines_pasted: 1, secrets_copied: 0 });
    expect(story.match(/^\d\. /gm)).toHaveLength(6);
    await agent.close();
    process.stdout.write(
      `joining: ${took.toFixed(1)} s, 6 steps, 1 line pasted, 0 secrets copied\n`,
    );
  },
  DEADLINE,
);

/** The variables that README's command sets. */
function variablesIn(text: string): Record<string, string> {
  const [, set = ""] = /`((?:\w+=\S+ )+)npx -y bun@\S+ start`/.exec(text) ?? [];
  return Object.fromEntries(
    [...set.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
}

/** What a camera reads from the screen. */
async function scan(page: Page, label: string): Promise<string> {
  const image = page.getByRole("img", { name: label });
  await untilSteady(image);
  return until(async () => readQr(await page.screenshot()));
}

/** A phone's browser, with a new profile. */
async function openPhone({ origin, pathname, hash }: URL): Promise<Page> {
  const context = await openProfile(origin, { size: PHONE, touch: true });
  const page = await context.newPage();
  await page.goto(origin + pathname + hash);
  return page;
}

async function tap(button: Locator): Promise<void> {
  await untilSteady(button);
  await button.tap();
}

/** Asks and keeps waiting, as an agent does; returns the question once it is no longer pending. */
async function ask(agent: Client): Promise<unknown> {
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = await agent.callTool({ name, arguments: { ...args, wait_seconds: 50 } });
    return result.structuredContent as { id: string; status: string };
  };
  let question = await call("ask_question", { prompt: QUESTION });
  while (question.status === "pending") {
    question = await call("get_question", { question_id: question.id });
  }
  return question;
}
