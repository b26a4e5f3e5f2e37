/** The keys that answer questions: each works only where it is shown, for the option beside it. */

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { keyOf, keysOf, optionOf } from "../../../src/web/person/questions/answer-keys.ts";
import { startTestApp } from "../../support/app.ts";
import { ask, createPair } from "../../support/client.ts";
import { browserTests, card, openPage, PHONE, untilSteady } from "../../web/browser.ts";
import { untilFocused } from "../../web/keys.ts";

const webTest = browserTests();
const app = await startTestApp();

type Question = Parameters<typeof keysOf>[0];
const choiceOf = (...options: string[]) => ({ kind: "choice", options }) as unknown as Question;

test("options that begin or end with a number get letters, and options that are lone letters get none", () => {
  const shown = (...options: string[]) =>
    options.map((_, at) => keysOf(choiceOf(...options))[at]).join("");
  expect(shown("Red", "Green", "Blue")).toBe("123");
  for (const numbers of [
    ["1", "3", "5", "10"],
    ["Now", "3 days"],
    ["(2) Later", "(1) Now"],
    ["#7", "#8"],
    ["３", "５"],
    ["① First", "Second"],
    ["Node 22", "Node 24"],
    ["-1", "+1"],
    ["٣", "٥"],
  ]) {
    expect([numbers, shown(...numbers)]).toEqual([numbers, "ABCD".slice(0, numbers.length)]);
  }
  // The letter would be read as the key of the option that begins with it.
  expect(shown("1 hour", "2 hours", "All")).toBe("BCD");
  expect(shown("5", "“cancel”", "Älter")).toBe("BDF");
  expect(shown("Always", "Back", "Cancel", "Delete 3")).toBe("FGHI");
  // A key would be read as the name of another option.
  for (const both of [
    ["1", "a"],
    ["B) 3", "A) 5"],
    ["Plan B", "7"],
  ]) {
    expect([both, shown(...both)]).toEqual([both, ""]);
  }
  expect(shown("Y", "N")).toBe("12");
  expect(optionOf(choiceOf("1", "3", "5", "10"), "3")).toBeUndefined();
  expect(optionOf(choiceOf("1", "3", "5", "10"), "B")).toBe("3");
});

test("a pressed key counts by its character or, where the layout has another character, by its position", () => {
  const pressed = (key: string, code: string, more: object = {}) =>
    keyOf({
      ...{ key, code, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false },
      ...{ isComposing: false, getModifierState: () => false, ...more },
    });
  expect(pressed("y", "KeyZ")).toBe("Y");
  expect(pressed("Y", "KeyY", { shiftKey: true })).toBe("Y");
  expect(pressed("3", "Numpad3")).toBe("3");
  expect(pressed("３", "Digit3")).toBe("3");
  expect(pressed("н", "KeyY")).toBe("Y");
  expect(pressed("&", "Digit1")).toBe("1");
  expect(pressed("é", "Digit2")).toBe("2");
  for (const none of [
    pressed("!", "Digit1", { shiftKey: true }),
    pressed("y", "KeyY", { ctrlKey: true }),
    pressed("y", "KeyY", { metaKey: true }),
    pressed("y", "KeyY", { altKey: true }),
    pressed("y", "KeyY", { isComposing: true }),
    pressed("¹", "Digit1", { getModifierState: (key: string) => key === "AltGraph" }),
    pressed("Process", "KeyY"),
    pressed("Enter", "Enter"),
    pressed("ö", "Semicolon"),
    pressed(" ", "Space"),
  ]) {
    expect(none).toBeNull();
  }
});

/** The keys shown on a card. */
const keysIn = async (page: Page, text: string) =>
  (await card(page, text).locator("kbd").filter({ visible: true }).allTextContents()).join("");

webTest("with options 1, 3, 5 and 10, B answers 3 and the key 3 answers nothing", async () => {
  const { person, agent } = await createPair(app.url);
  const options = ["1", "3", "5", "10"];
  const { id } = await ask(agent.send, { prompt: "How many?", kind: "choice", options });
  const page = await openPage(app.url, { as: person });
  await untilFocused(page, /^article: .*How many\?/);
  expect(await keysIn(page, "How many?")).toBe("ABCD");
  await untilSteady(card(page, "How many?"));
  for (const key of ["3", "1", "5"]) await page.keyboard.press(key);
  expect((await person.send(`GET /v1/questions/${id}`)).body.status).toBe("pending");
  await page.keyboard.press("b");
  await page.getByText("Answer sent").waitFor();
  expect((await person.send(`GET /v1/questions/${id}`)).body.answer).toBe("3");
});

webTest("answer keys are shown only on the card where they work", async () => {
  const { person, agent } = await createPair(app.url);
  const colours = { kind: "choice", options: ["Red", "Blue"], allow_other: true };
  await ask(agent.send, { prompt: "First?", expires_in: 100 });
  await ask(agent.send, { prompt: "Second?", ...colours, expires_in: 200 });
  await ask(agent.send, { prompt: "Third?", expires_in: 300 });
  const page = await openPage(app.url, { as: person });
  await untilFocused(page, /^article: .*First\?/);
  const shown = async () => {
    const found: string[] = [];
    for (const text of ["First?", "Second?", "Third?"]) found.push(await keysIn(page, text));
    return found;
  };
  expect(await shown()).toEqual(["YN", "", ""]);
  await page.keyboard.press("j");
  expect(await shown()).toEqual(["", "12", ""]);
  // While a text field has the focus, keys type text.
  await card(page, "Second?").getByRole("button", { name: "Other…" }).click();
  await card(page, "Second?").getByLabel("Your answer").fill("1");
  expect(await shown()).toEqual(["", "", ""]);
  await card(page, "Second?").getByRole("button", { name: "Red" }).focus();
  await untilSteady(card(page, "Second?"));
  await page.keyboard.press("2");
  await card(page, "Second?").waitFor({ state: "detached" });
  await untilFocused(page, /^article: .*Third\?/);
  expect(await keysIn(page, "Third?")).toBe("YN");
  // Elsewhere keys answer nothing.
  await page.getByRole("link", { name: "Tasks", exact: true }).focus();
  expect([await keysIn(page, "First?"), await keysIn(page, "Third?")]).toEqual(["", ""]);
  await page.keyboard.press("y");
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("y");
  const { body } = await agent.send("GET /v1/questions");
  expect(body.questions.filter((one: any) => one.status === "pending")).toHaveLength(2);
});

webTest("on a phone no answer keys are shown, and those of a keyboard work", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Now?" });
  const page = await openPage(app.url, { as: person, size: PHONE, touch: true });
  await card(page, "Now?").waitFor();
  await page.keyboard.press("y");
  await page.getByText("Press again to answer").waitFor();
  expect(await keysIn(page, "Now?")).toBe("");
  await untilSteady(card(page, "Now?"));
  // The layout of a Russian keyboard.
  await card(page, "Now?").evaluate((one) =>
    one.dispatchEvent(new KeyboardEvent("keydown", { key: "н", code: "KeyY", bubbles: true })),
  );
  await page.getByText("Answer sent").waitFor();
  expect((await person.send(`GET /v1/questions/${id}`)).body.answer).toBe("Yes");
});
