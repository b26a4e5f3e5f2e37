/** Set-up lines where the address, OAuth or the client's name is not known. */

import { expect } from "bun:test";
import { startTestApp } from "../../support/app.ts";
import { createPair } from "../../support/client.ts";
import { initializeOn } from "../../support/mcp.ts";
import { connectClient } from "../../support/oauth.ts";
import {
  browserTests,
  expectComplaints,
  go,
  openPage,
  openProfile,
  untilLive,
} from "../../web/browser.ts";

const webTest = browserTests();
const app = await startTestApp();

webTest("the setup lines use PUBLIC_URL even if the page has another address", async () => {
  const behind = await startTestApp({ env: { PUBLIC_URL: "https://relay.example/at" } });
  const { person, agent } = await createPair(behind.local_url);
  const at = `#/agents/${agent.key.id}/setup`;
  const page = await openPage(behind.local_url, { as: person, at });
  await page.getByText("relay https://relay.example/at/mcp --header").waitFor();
});

webTest("an agent to which a client got access counts as connected too", async () => {
  const { person, agent } = await createPair(app.url);
  const page = await openPage(app.url, { as: person, at: "#/agents/new" });
  await page.getByText("Waiting for your approval…").waitFor();
  const { tokens } = await connectClient(app.url, person, { key_id: agent.key.id });
  await initializeOn(app.url, tokens.access_token, "ci-7");
  await page.getByText("Connected: Claude Code 2.1.197 on ci-7").waitFor();
});

webTest(
  "where OAuth is not offered, the page asks for a name and shows lines with the key",
  async () => {
    const options = { env: { PUBLIC_URL: "http://192.0.2.1:3000" } };
    const { local_url } = await startTestApp(options);
    const { person, agent } = await createPair(local_url);
    const page = await openPage(local_url, { as: person, at: "#/agents/new" });
    await page.getByText("At an https address").waitFor();
    expect(await page.getByText("Waiting for your approval…").count()).toBe(0);
    await go(page, `agents/${agent.key.id}/setup`);
    await page.getByText(`relay http://192.0.2.1:3000/mcp --header "Authorization`).waitFor();
    expect(await page.getByLabel("Sign-in").count()).toBe(0);
  },
);

webTest("behind a proxy that hides the address, the server's own statement decides", async () => {
  expectComplaints(/404/);
  const { person } = await createPair(app.url);
  const context = await openProfile(app.url, { as: person });
  await context.route("**/.well-known/oauth-authorization-server", async (route) => {
    const answer = await fetch(route.request().url(), { headers: { host: "192.0.2.1:3000" } });
    await route.fulfill({ status: answer.status, body: await answer.text() });
  });
  const page = await context.newPage();
  await page.goto(`${app.url}/#/agents/new`);
  await page.getByText("At an https address").waitFor();
});

webTest("the page notices a first request that names no client and no host too", async () => {
  const { person, agent } = await createPair(app.url);
  const context = await openProfile(app.url, { as: person });
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${app.url}/#/agents/${agent.key.id}/setup`);
  await untilLive(page);
  await page.getByText("Waiting for its first request…").waitFor();
  await agent.send("GET /v1/tasks");
  await page.clock.runFor(3_000);
  await page.getByRole("status").getByText("Connected", { exact: true }).waitFor();
});
