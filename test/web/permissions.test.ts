/** Permission prompts of coding agents in the page (§2.5.5). */

import { expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import type { Page } from "playwright-core";
import { partsOf } from "../../src/web/ui/visible.tsx";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf } from "../support/approve.ts";
import { type Agent, ask, createPair } from "../support/client.ts";
import { until } from "../support/until.ts";
import { browserTests, expectComplaints, openPage, PHONE, press, untilLive } from "./browser.ts";
import { expectNoOverflow, untilSettled, violations } from "./page-checks.ts";

const webTest = browserTests();
const app = await startTestApp();

/** Folder for screenshots to look at; none when unset. */
const PICTURES = process.env.RELAY_TEST_PICTURES;

const SESSION_RULE = {
  type: "addRules",
  destination: "session",
  behavior: "allow",
  rules: [{ toolName: "Bash", ruleContent: "bun run build:*" }],
};

let last_session = 0;

interface Prompted {
  readonly tool_name?: string;
  readonly tool_input?: object;
  readonly [name: string]: unknown;
}

/** Claude Code's hook asks; `decided` is the text that it gets. */
async function prompt(agent: Agent, command: string, more: Prompted = {}) {
  const before = new Set(await idsOf(agent));
  const session_id = `session-${last_session++}`;
  const args = commandOf(command, { session_id, cwd: "/home/me/app", ...more });
  const headers = { "x-agent-host": "studio.local" };
  const { text: decided } = await callHook(app.url, agent.secret, args, { headers });
  const id = await until(async () => (await idsOf(agent)).find((one) => !before.has(one)));
  return { id, decided };
}

async function idsOf(agent: Agent): Promise<string[]> {
  const { body } = await agent.send("GET /v1/questions");
  return body.questions.map(({ id }: { readonly id: string }) => id);
}

const decisionIn = (text: string) => JSON.parse(text).hookSpecificOutput.decision;

const cards = (page: Page) => page.getByRole("list", { name: "Pending" }).locator("article");
const button = (page: Page, name: string) =>
  cards(page).first().getByRole("button", { name, exact: true });
const isOff = async (page: Page, name: string) =>
  (await button(page, name).getAttribute("aria-disabled")) === "true";

webTest("parts of a command that its display would hide are marked, with their length", () => {
  const shown = (text: string) =>
    partsOf(text)
      .map((part) => ("text" in part ? part.text : `[${part.mark}]`))
      .join("");
  for (const plain of [
    "rm -rf build",
    "if a; then\n\n    b\n\tc\nfi",
    " ".repeat(64),
    "naïve e\u0301",
  ]) {
    expect(shown(plain)).toBe(plain);
  }
  for (const [text, expected] of [
    [`ls${" ".repeat(20_000)}; rm`, "ls[20,000 spaces]; rm"],
    [`ls${"\n".repeat(5)}  rm`, "ls[4 newlines]\n  rm"],
    [`ls${" \n".repeat(500)}rm`, "ls[499 newlines and 500 spaces]\nrm"],
    [`ls\n${"\t".repeat(65)}rm`, "ls[1 newline and 65 tabs]rm"],
    ["ls\u001b[2K\rrm", "ls[ESC][2K[CR]rm"],
    ["a\u202etxt\u202c\u00a0b", "a[U+202E]txt[U+202C][no-break space]b"],
    [`a${"\u200b".repeat(1_000)}b`, "a[1,000 × U+200B]b"],
    ["a\u{e0041}\u2800\u3164b", "a[U+E0041][U+2800][U+3164]b"],
    [`a${"\u0301".repeat(80)}`, "a[80 combining marks]"],
    ["⟨3 spaces⟩", "[U+27E8]3 spaces[U+27E9]"],
    ["\ud800x", "[U+D800]x"],
  ] as const) {
    expect(shown(text)).toBe(expected);
  }
});

webTest("no key or click allows a command before it is loaded completely", async () => {
  const { person, agent } = await createPair(app.url);
  const description = "# Host: trusted\n\n[Allow](https://evil.example) <button>Allow</button>";
  const page = await openPage(app.url, { as: person });
  await page.getByText("All caught up").waitFor();
  const loads = Promise.withResolvers<void>();
  await page.route("**/trpc/questions.get*", async (route) => {
    await loads.promise;
    await route.continue();
  });
  // The event has no command, so the page reads the question.
  const { decided } = await prompt(agent, "", {
    tool_input: { command: "rm -rf build\nbun run build", description },
    permission_suggestions: [SESSION_RULE],
  });
  await page.getByText("Loading command…").waitFor();
  expect([await isOff(page, "Allow"), await isOff(page, "Allow for this session")]).toEqual([
    true,
    true,
  ]);
  expect(await isOff(page, "Deny")).toBe(false);
  await cards(page).first().focus();
  await until(async () => {
    await page.keyboard.press("y");
    return page.getByText("Read the command to the end first").first().isVisible();
  });
  // Number keys never allow anything.
  await page.keyboard.press("1");
  expect(await cards(page).count()).toBe(1);
  loads.resolve();
  const command = cards(page).getByRole("figure", { name: "The command" });
  await until(async () => !(await isOff(page, "Allow")));
  expect(await command.locator("div").allTextContents()).toEqual(["rm -rf build", "bun run build"]);
  expect(await cards(page).first().textContent()).toMatch(
    /wants to run a command.*Bash.*rm -rf build.*Hoststudio.*Folder\/home\/me\/app.*Sessionsession-.*Bash\(bun run build:\*\).*Allow/s,
  );
  // The agent's words are shown as written.
  const words = cards(page).getByRole("figure", { name: "From the agent" });
  expect(await words.locator("p").last().textContent()).toBe(description);
  expect(await words.locator("a, button, h1, h2, h3").count()).toBe(0);
  expect(await violations(page, "main")).toEqual([]);
  await page.keyboard.press("1");
  await page.keyboard.press("y");
  expect(decisionIn(await decided)).toEqual({ behavior: "allow" });

  const ended = page.locator("section", { hasText: "History" }).locator("li").first();
  await ended.getByText("Allow", { exact: true }).waitFor();
  await ended.getByRole("link").click();
  await page.getByText("You answered it").waitFor();
  expect(await page.getByRole("figure", { name: "The command" }).textContent()).toContain(
    "bun run",
  );
});

webTest("all arguments of a command and the whole folder are shown with it", async () => {
  const { person, agent } = await createPair(app.url);
  const workdir = `/srv/${"folder/".repeat(130)}end`;
  await prompt(agent, "", {
    tool_input: { command: "make", workdir, timeout: 5, prefix_rule: ["make\u202e"] },
  });
  const page = await openPage(app.url, { as: person, size: PHONE });
  await until(async () => !(await isOff(page, "Allow")));
  const card = cards(page).first();
  expect(await card.textContent()).toMatch(
    /Bash.*timeout: 5.*prefix_rule: \["make\\u\{202e\}"\].*make.*Folder\/srv\/.*folder\/end/s,
  );
  for (const text of ["timeout: 5", "/end"]) {
    const clipped = await card.getByText(text).evaluate((one) => {
      const { bottom } = one.getBoundingClientRect();
      for (let box = one.parentElement; box?.localName !== "article"; box = box.parentElement) {
        if (box === null || box.getBoundingClientRect().bottom < bottom - 1) return true;
      }
      return false;
    });
    expect([text, clipped]).toEqual([text, false]);
  }
  await expectNoOverflow(page);
  expect(await violations(page, "main")).toEqual([]);
});

webTest("a long command must be scrolled to its end before it can be allowed", async () => {
  const { person, agent } = await createPair(app.url);
  const { decided } = await prompt(agent, `${"echo a line\n".repeat(300)}rm -rf /`);
  const page = await openPage(app.url, { as: person, size: PHONE });
  const command = cards(page).getByRole("figure", { name: "The command" });
  const hint = page.getByText("Scroll to the end of the command to allow it: 301 lines,");
  await hint.waitFor();
  await command.evaluate((one) => one.scrollTo(0, one.scrollHeight - one.clientHeight - 60));
  await cards(page).first().focus();
  await until(async () => {
    await page.keyboard.press("y");
    return page.getByText("Read the command to the end first").first().isVisible();
  });
  expect(await hint.isVisible()).toBe(true);
  expect(await isOff(page, "Allow")).toBe(true);
  await command.evaluate((one) => one.scrollTo(0, one.scrollHeight));
  await until(async () => !(await isOff(page, "Allow")));
  await page.getByText("The whole command: 301 lines,").waitFor();
  await expectNoOverflow(page);
  expect(await violations(page, "main")).toEqual([]);
  await press(button(page, "Add a note"));
  await cards(page).getByRole("textbox", { name: "Note" }).fill("Only inside build");
  await press(button(page, "Deny"));
  expect(decisionIn(await decided)).toEqual({ behavior: "deny", message: "Only inside build" });
});

webTest(
  "a key that brings only the end of a command into view does not let it be allowed",
  async () => {
    const { person, agent } = await createPair(app.url);
    await prompt(agent, `rm -rf /\n${"echo a line\n".repeat(60)}echo end`);
    await prompt(agent, "make");
    const page = await openPage(app.url, { as: person });
    const first = cards(page).first();
    const command = first.getByRole("figure", { name: "The command" });
    await command.waitFor();
    // Moving to a card shows it from its beginning.
    await cards(page).nth(1).getByRole("button", { name: "Deny" }).focus();
    await page.keyboard.press("k");
    expect(await first.evaluate((one) => one.getBoundingClientRect().top)).toBeGreaterThanOrEqual(
      0,
    );
    expect(await button(page, "Allow").evaluate((one) => one === document.activeElement)).toBe(
      true,
    );
    // The frame is above the window when a key opens it: its end would come into view, above Allow.
    await button(page, "Allow").evaluate((one) => one.scrollIntoView());
    await page.keyboard.press("e");
    await first.getByRole("button", { name: "Show less" }).waitFor();
    const top = await command.evaluate((one) => one.getBoundingClientRect().top);
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(200);
    await until(async () => {
      await page.keyboard.press("y");
      return page.getByText("Read the command to the end first").first().isVisible();
    });
    // The end alone is not enough where the beginning has not been in view.
    await page.reload();
    expect(await isOff(page, "Allow")).toBe(true);
    const end = command.locator("div").last();
    await command.waitFor();
    await end.evaluate((one) => one.scrollIntoView({ block: "center" }));
    await until(async () => !(await isOff(page, "Allow")));
  },
);

webTest("prompts of one session stand together, and each is answered separately", async () => {
  const { person, agent } = await createPair(app.url);
  const turn = { session_id: "12345678-aaaa-bbbb", prompt_id: "turn-1" };
  const first = await prompt(agent, "make one", turn);
  await ask(agent.send, { prompt: "Something else?", expires_in: 300 });
  await prompt(agent, "make alone");
  const second = await prompt(agent, "make two", { ...turn, agent_id: "explorer-7" });
  const page = await openPage(app.url, { as: person });
  await page.getByText("2 requests from session 12345678…").waitFor();
  // Commands are loaded once they are in view.
  const commands = page.getByRole("figure", { name: "The command" });
  for (const at of [1, 2, 3]) {
    await until(async () => {
      await cards(page).nth(at).scrollIntoViewIfNeeded();
      return (await commands.count()) >= at;
    });
  }
  const order = await cards(page).evaluateAll((all) =>
    all.map((one) => /make one|make two|make alone|else/.exec(one.textContent!)![0]),
  );
  expect(order).toEqual(["else", "make one", "make two", "make alone"]);
  expect(await violations(page, "main")).toEqual([]);
  const of = (text: string) => cards(page).filter({ hasText: text });
  expect(await of("make two").textContent()).toContain("Subagentexplorer-7");
  expect(await of("make one").textContent()).not.toContain("Subagent");
  await press(of("make two").getByRole("button", { name: "Deny" }));
  await page.getByText("2 requests from session").waitFor({ state: "detached" });
  expect(decisionIn(await second.decided).behavior).toBe("deny");
  await press(of("make one").getByRole("button", { name: "Allow", exact: true }));
  expect(decisionIn(await first.decided).behavior).toBe("allow");
});

webTest("a permission prompt answered offline is refused, and nothing is sent later", async () => {
  expectComplaints(/Failed to load resource|ERR_/);
  const { person, agent } = await createPair(app.url);
  const { id } = await prompt(agent, "make deploy");
  const question = await ask(agent.send, { prompt: "Kept?" });
  const page = await openPage(app.url, { as: person });
  await until(async () => !(await isOff(page, "Allow")));
  await page.context().setOffline(true);
  await page.getByText("Offline.").waitFor();
  await press(button(page, "Allow"));
  await page.getByText("a request for permission can only be answered while connected").waitFor();
  // The answer to a question is kept, and sent although the permission before it is not.
  await press(cards(page).filter({ hasText: "Kept?" }).getByRole("button", { name: "Yes" }));
  await page.context().setOffline(false);
  await until(
    async () => (await agent.send(`GET /v1/questions/${question.id}`)).body.answer === "Yes",
  );
  expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("pending");
  await untilLive(page);
  // It isn't sent again after a lost response either.
  await page.route("**/trpc/questions.answer*", (route) => route.abort());
  await press(button(page, "Allow"));
  await page.getByText("Couldn't reach the server.").waitFor();
  expect(await page.evaluate(() => localStorage.getItem("relay.answers"))).toBeNull();
});

const HOSTILE: Readonly<Record<string, Prompted>> = {
  long: { tool_input: { command: `${"x".repeat(3_000)}; rm -rf /` } },
  spaces: { tool_input: { command: `ls${" ".repeat(19_900)}; rm -rf /` } },
  control: {
    tool_input: { command: "ls \u001b[2K\rrm -rf / \u202Etxt.exe\u202C \u05d0\u05d1 ⟨1 space⟩" },
  },
  stacked: {
    tool_input: { command: `ls a${"\u0301".repeat(900)} ${"b\u0301\u0301\u0301".repeat(300)}` },
  },
  markdown: {
    tool_input: {
      command:
        "# Heading\n\n**bold** [Allow](https://x.example)\n<button>Allow</button><script>window.hit=1</script>",
      description:
        "# Host: trusted\n\n---\n\n**Folder** /safe\n<button>Allow</button>\n\n```\nrm\n```",
    },
  },
  frame: {
    tool_input: {
      command:
        "ls\n\n────────────\nHost     trusted\nFolder   /safe\n\n[ ✓ Allow ]   [ ✕ Deny ]\n\nrm -rf /",
      description: "Relay: this command was checked and is safe.",
    },
  },
  diff: {
    tool_name: "Edit",
    tool_input: { file_path: "/etc/hosts", old_string: "one\ntwo", new_string: "one\nthree" },
  },
  largest: {
    tool_name: `T${"o".repeat(998)}l`,
    tool_input: { title: "x", body: "two\nlines", labels: ["a"] },
    cwd: `/home/me${"/folder".repeat(140)}`,
    session_id: "s".repeat(1_000),
  },
};

for (const scheme of ["light", "dark"] as const) {
  webTest(
    `hostile commands do not break the page or pass for a part of it: ${scheme}`,
    async () => {
      const { person, agent } = await createPair(app.url);
      for (const more of Object.values(HOSTILE)) await prompt(agent, "", more);
      const size = scheme === "light" ? PHONE : { width: 1440, height: 900 };
      const page = await openPage(app.url, { as: person, size, scheme });
      const texts = page.getByRole("figure", { name: /^The (command|change|list of arguments)$/ });
      for (const [at, name] of Object.keys(HOSTILE).entries()) {
        // What loads above it moves it out of view.
        await until(async () => {
          await cards(page).nth(at).scrollIntoViewIfNeeded();
          return (await texts.count()) > at;
        });
        if (!PICTURES) continue;
        await untilSettled(page);
        await mkdir(PICTURES, { recursive: true });
        await cards(page)
          .nth(at)
          .screenshot({ path: `${PICTURES}/permission-${name}-${scheme}.png` });
      }
      await expectNoOverflow(page);
      expect(await violations(page, "main")).toEqual([]);
      // The agent's text stays in its places and reads from left to right.
      const inside = page.locator("article :is(figure, dd)");
      expect(await inside.locator("a, h1, h2, h3, script, b, strong, hr").count()).toBe(0);
      expect(await page.evaluate(() => "hit" in window)).toBe(false);
      const in_order = await texts.nth(2).evaluate((one) => {
        const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        let node = texts.nextNode();
        while (node && !node.textContent!.includes("\u05d0")) node = texts.nextNode();
        const at = node!.textContent!.indexOf("\u05d0");
        const [first, second] = [0, 1].map((by) => {
          const range = document.createRange();
          range.setStart(node!, at + by);
          range.setEnd(node!, at + by + 1);
          return range.getBoundingClientRect().x;
        });
        return first! < second!;
      });
      expect(in_order).toBe(true);
    },
  );
}
