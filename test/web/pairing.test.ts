/** Adding a browser to an account by a link or a code (§5.14). */

import { expect, test } from "bun:test";
import { browserLabel } from "../../src/web/state/browser-label.ts";
import { qrCode } from "../../src/web/ui/qr.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPerson, pair, sessionsOf } from "../support/client.ts";
import { browserTests, expectComplaints, openPage, PHONE, tokenIn, untilLive } from "./browser.ts";
import { expectNoOverflow, violations } from "./page-checks.ts";
import { OF_PLAIN_HTTP, pairingsAt } from "./pairing-scene.ts";

const webTest = browserTests();
const app = await startTestApp();
const { lan, atOf, newCode } = pairingsAt(app.url);

webTest(
  "a phone joins over plain http by the QR code's link, once the person confirms",
  async () => {
    expectComplaints(OF_PLAIN_HTTP);
    const person = await createPerson(app.url);
    const desk = await openPage(lan, { as: person, at: "#/account" });
    const made = desk.waitForResponse("**/trpc/pairings.create");
    await desk.getByRole("button", { name: "Add a device" }).click();
    const { url, code } = (await (await made).json()).result.data;
    expect(url).toStartWith(`${lan}/#/pair/`);
    const image = desk.getByRole("img", { name: "QR code" });
    expect(await image.locator("path").getAttribute("d")).toBe(qrCode(url).path);
    await desk.getByText(code).waitFor();
    await desk.getByText(/Expires in (5:00|4:\d\d)/).waitFor();

    const phone = await openPage(lan, { at: atOf(url), size: PHONE, touch: true });
    await phone.getByRole("heading", { name: "Add this browser?" }).waitFor();
    await phone.getByText(new URL(lan).host).waitFor();
    expect(phone.url()).toBe(`${lan}/#/`);
    // The phone names the account, which the person finds under Account on the other device.
    await phone.getByText(person.account.id).waitFor();
    await phone.getByText("Unnamed device").waitFor();
    await desk.getByText(person.account.id).waitFor();
    expect(await violations(phone)).toEqual([]);
    await phone.reload();
    await phone.getByText(person.account.id).waitFor();
    expect(await sessionsOf(person)).toHaveLength(1);
    expect(await phone.evaluate(() => isSecureContext || localStorage.length > 0)).toBe(false);
    await expectNoOverflow(phone);
    await phone.getByRole("button", { name: "Add this browser" }).click();
    await untilLive(phone);

    await desk.getByText("Chrome on Linux signed in").waitFor();
    // A later sign-in did not use this code.
    const other = await pair(app.url, person, "Somebody else");
    await desk.getByText("Somebody else signed in to your account").waitFor();
    await person.send(`DELETE /v1/sessions/${other.session.id}`);
    await desk.getByText("Somebody else signed in").waitFor({ state: "detached" });
    expect(await sessionsOf(person)).toMatchObject([
      { label: "Chrome on Linux", made_by: "pairing" },
      { made_by: "account" },
    ]);
    expect(await tokenIn(phone)).not.toBe(person.token);
    await desk.getByRole("button", { name: "Done" }).click();
    const row = desk.locator("li", { hasText: "Chrome on Linux" });
    await row.getByText("Added with a code").waitFor();
    expect(await row.getByText("Never used").count()).toBe(0);
    // The dialog has told the person about it.
    expect(await desk.getByText("signed in to your account").count()).toBe(0);
    // No address or log line contains the code or a token.
    for (const line of app.lines) {
      for (const secret of [code, url.split("/").at(-1), await tokenIn(phone)]) {
        expect(line).not.toContain(secret);
      }
    }
  },
);

webTest("a typed code or a pasted link signs in", async () => {
  expectComplaints(/404/);
  const person = await createPerson(app.url);
  const { code, url } = await newCode(person);
  const page = await openPage(app.url);
  const field = page.getByLabel("I have a code");
  const claims: string[] = [];
  page.on("request", (request) => claims.push(request.url()));
  for (const text of ["ABCD-EFG", "ABCD", "ABCD-EFGH-J"]) {
    await field.fill(text);
    await field.press("Enter");
    await page.getByText("This must have 8 letters and digits").waitFor();
  }
  expect(claims.filter((one) => one.includes("pairings"))).toEqual([]);
  await field.fill("ABCD-EFGH");
  await field.press("Enter");
  await page.getByRole("alert").getByText("This code isn't valid").waitFor();
  await field.fill(code.replace("-", "").toLowerCase());
  await field.press("Enter");
  await untilLive(page);
  expect(await page.evaluate(() => localStorage.getItem("relay.claim"))).toBeNull();

  const other = await openPage(app.url);
  await other.getByLabel("I have a code").fill(url);
  await other.getByRole("button", { name: "Use code" }).click();
  await other.getByRole("alert").getByText("make a new one").waitFor();
  await other.getByLabel("I have a code").fill((await newCode(person)).url);
  await other.getByRole("button", { name: "Use code" }).click();
  await untilLive(other);
  expect(await sessionsOf(person)).toHaveLength(3);
});

webTest("the first view leads with the code on a phone and at another address", async () => {
  expectComplaints(OF_PLAIN_HTTP);
  const opened = async (url: string, size?: typeof PHONE) => {
    const page = await openPage(url, size && { size });
    const top = async (name: string) => (await page.getByRole("button", { name }).boundingBox())!.y;
    return (await top("Use code")) < (await top("Create account"));
  };
  expect(await opened(app.url)).toBe(false);
  expect(await opened(app.url, PHONE)).toBe(true);
  expect(await opened(lan)).toBe(true);
});

webTest("a browser that creates an account gets a label from its user agent", async () => {
  const page = await openPage(app.url);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  const [one] = await sessionsOf({ send: client(app.url, (await tokenIn(page))!) });
  expect(one).toMatchObject({ label: "Chrome on Linux", made_by: "account" });
});

test("a browser's label comes from its user agent", () => {
  const webkit = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
  const blink = "AppleWebKit/537.36 (KHTML, like Gecko)";
  const names: readonly (readonly [agent: string, touches: number, name: string])[] = [
    [
      `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webkit} Version/18.5 Mobile/15E148 Safari/604.1`,
      5,
      "Safari on iPhone",
    ],
    [
      `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webkit} CriOS/141.0 Mobile/15E148 Safari/604.1`,
      5,
      "Chrome on iPhone",
    ],
    [
      `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webkit} FxiOS/144.0 Mobile/15E148 Safari/605.1.15`,
      5,
      "Firefox on iPhone",
    ],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/18.5 Safari/605.1.15`,
      0,
      "Safari on Mac",
    ],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/18.5 Safari/605.1.15`,
      5,
      "Safari on iPad",
    ],
    [
      `Mozilla/5.0 (Linux; Android 15; Pixel 9) ${blink} Chrome/141.0.0.0 Mobile Safari/537.36`,
      5,
      "Chrome on Android",
    ],
    [
      `Mozilla/5.0 (Linux; Android 15; SM-S928B) ${blink} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
      5,
      "Samsung Internet on Android",
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0`,
      0,
      "Edge on Windows",
    ],
    [
      `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${blink} Chrome/141.0.0.0 Safari/537.36`,
      0,
      "Chrome on ChromeOS",
    ],
    [
      `Mozilla/5.0 (X11; Linux x86_64) ${blink} Chrome/141.0.0.0 Safari/537.36 OPR/125.0.0.0`,
      0,
      "Opera on Linux",
    ],
    [
      "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
      0,
      "Firefox on Linux",
    ],
    ["curl/8.5.0", 0, "Browser"],
  ];
  for (const [agent, touches, name] of names) expect(browserLabel(agent, touches)).toBe(name);
});
