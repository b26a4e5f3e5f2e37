/** `relay login`: every way to get access, and how the access is kept valid. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { createPair, createPerson, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { sealedOf } from "../support/oauth.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const DAY = 86_400;

const fileOf = (home: string) => join(home, ".config/relay/access.json");
const accessOf = (home: string) => JSON.parse(readFileSync(fileOf(home), "utf8"));

/** The person's browser, which approves what it opens; returns the text of the last page. */
function createBrowser({ send }: Person, change: (url: URL) => URL = (url) => url) {
  const pages: string[] = [];
  const open = (address: string): boolean => {
    void (async () => {
      const request = sealedOf(await fetch(address, { redirect: "manual" }));
      const { body } = await send("POST /v1/oauth/approve", { request, label: "terminal" });
      const page = await fetch(change(new URL(body.redirect_to)));
      pages.push(`${page.status} ${await page.text()}`);
    })();
    return true;
  };
  return { open, pages };
}

async function signIn() {
  const person = await createPerson(app.url);
  const browser = createBrowser(person);
  const user = createUser({ clock, open: browser.open });
  expect(await user.run(["login", `${app.url}/`])).toMatchObject({ code: 0, out: "" });
  return { person, ...browser, ...user };
}

test("relay login lets a browser on this machine approve, and keeps the tokens for the user alone", async () => {
  const { person, home, pages, run } = await signIn();
  await until(() => pages.length === 1);
  expect(pages[0]).toStartWith("200 ");
  expect(pages[0]).toContain("You can close this window");
  expect(statSync(fileOf(home)).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, ".config/relay")).mode & 0o777).toBe(0o700);
  const { code, out } = await run(["task", "add", "From the terminal"]);
  const { body } = await person.send("GET /v1/tasks");
  expect([code, out]).toEqual([0, `${body.tasks[0].id}\n`]);
  expect(body.tasks[0]).toMatchObject({ title: "From the terminal", host: "workbench" });
});

test("a response with another state is refused, and the sign-in keeps waiting", async () => {
  const person = await createPerson(app.url);
  let redirect: URL | undefined;
  const { open, pages } = createBrowser(person, (url) => {
    redirect = url;
    const changed = new URL(url);
    changed.searchParams.set("state", "another");
    return changed;
  });
  const { start, home } = createUser({ clock, open });
  const { code } = start(["login", app.url]);
  await until(() => pages.length === 1);
  expect(pages[0]).toStartWith("400 ");
  expect(existsSync(fileOf(home))).toBeFalse();
  expect((await fetch(redirect!)).status).toBe(200);
  expect(await code).toBe(0);
});

test("access that the person denies is reported in one line", async () => {
  const { send } = await createPerson(app.url);
  const open = (address: string): boolean => {
    void (async () => {
      const request = sealedOf(await fetch(address, { redirect: "manual" }));
      const { body } = await send("POST /v1/oauth/deny", { request });
      await fetch(body.redirect_to);
    })();
    return true;
  };
  const { run } = createUser({ clock, open });
  const { code, err } = await run(["login", app.url]);
  expect([code, err.trimEnd().split("\n").at(-1)]).toEqual([
    3,
    "relay: access was denied on the page",
  ]);
});

test("without a browser, another device approves by the code", async () => {
  const { send } = await createPerson(app.url);
  const { start, run } = createUser({ clock });
  const { code, printed } = start(["login", "--no-browser", app.url]);
  const [, shown] = await until(() => /^Code: (\S+)\nLink: /m.exec(printed.err));
  // The page's view of this request, also where no other device reaches the server.
  expect(printed.err).toContain(`Link: ${app.url}/#/approve/${shown}\n`);
  expect((await send("POST /v1/oauth/approve", { request: shown, label: "far" })).status).toBe(200);
  expect(await code).toBe(0);
  expect(await run(["task", "list"])).toMatchObject({ code: 0, out: "" });
});

test("relay login checks and keeps a key from standard input", async () => {
  const { agent } = await createPair(app.url);
  const { run, home } = createUser({ clock });
  const login = ["login", "--with-key", app.url];
  expect(await run(login, { input: async () => "mck_wrong" })).toMatchObject({
    code: 3,
    err: `relay: ${app.url} does not accept the key: copy it again, or create a new one there\n`,
  });
  expect(existsSync(fileOf(home))).toBeFalse();
  expect(await run(login, { input: async () => `${agent.secret}\n` })).toMatchObject({ code: 0 });
  expect(accessOf(home)).toEqual({ kind: "key", url: app.url, key: agent.secret });
  expect(await run(["task", "list"])).toMatchObject({ code: 0 });
});

test("an expired access token is replaced, once for simultaneous processes", async () => {
  const { home, run } = await signIn();
  const before = accessOf(home);
  await clock.skip(DAY);
  const runs = await Promise.all([run(["task", "list"]), run(["task", "list"])]);
  expect(runs.map(({ code, err }) => [code, err])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  const after = accessOf(home);
  expect(after.access_token).not.toBe(before.access_token);
  expect(after.expires_at).toBeGreaterThan(before.expires_at);
  expect(statSync(fileOf(home)).mode & 0o777).toBe(0o600);
});

test("after access was revoked, relay says what to do, and logout forgets it", async () => {
  const { home, run, person } = await signIn();
  const { body } = await person.send("GET /v1/keys");
  const { id } = body.keys[0];
  const { grants } = (await person.send(`GET /v1/keys/${id}/grants`)).body;
  await person.send(`DELETE /v1/keys/${id}/grants/${grants[0].id}`);
  expect(await run(["task", "list"])).toMatchObject({
    code: 3,
    err: "relay: The access has ended: run relay login <url>, or check RELAY_KEY\n",
  });
  expect(await run(["logout"])).toMatchObject({ code: 0 });
  expect(existsSync(fileOf(home))).toBeFalse();
});

test("logout ends the grant at the server", async () => {
  const { run, person } = await signIn();
  const { id } = (await person.send("GET /v1/keys")).body.keys[0];
  expect(await run(["logout"])).toMatchObject({ code: 0, err: `Signed out of ${app.url}\n` });
  expect((await person.send(`GET /v1/keys/${id}/grants`)).body.grants).toEqual([]);
});
