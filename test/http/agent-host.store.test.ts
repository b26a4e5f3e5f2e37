/** The name of an agent's machine in a header, in any script (§1.6). */

import { expect, test } from "bun:test";
import { createClient } from "../../src/client/client.ts";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";

const app = await startTestApp();

/** What a program sends that writes the name in this encoding: `fetch` turns each character into a byte. */
const bytesOf = (name: string, encoding: "utf8" | "latin1") =>
  Buffer.from(name, encoding).toString("latin1");

test("an agent's host name is read as UTF-8, and as Latin-1 if it is not UTF-8", async () => {
  const { agent } = await createPair(app.url);
  for (const [sent, shown] of [
    [bytesOf("Jürgens-MacBook", "utf8"), "Jürgens-MacBook"],
    [bytesOf("Jürgens-MacBook", "latin1"), "Jürgens-MacBook"],
    [bytesOf("東京-1", "utf8"), "東京-1"],
    [bytesOf("日本".repeat(200), "utf8"), "日本".repeat(200).slice(0, 253)],
    [bytesOf("a\u0085b", "utf8"), "ab"],
    ["studio.local", "studio.local"],
    [bytesOf("Ã¼", "latin1").slice(0, 1), "Ã"],
  ] as const) {
    const headers = { "x-agent-host": sent };
    const { status, body } = await agent.send("POST /v1/tasks", { title: "t" }, { headers });
    expect([status, body.host]).toEqual([201, shown]);
  }
});

test("the client sends a host name in any script", async () => {
  const { agent } = await createPair(app.url);
  for (const name of ["Jürgens-MacBook", "東京-1", "a\nb"]) {
    const client = createClient({ url: app.url, credential: agent.secret, agent_host: name });
    const { host } = await client.tasks.create({ title: "t" });
    expect(host).toBe(name.replace("\n", ""));
  }
});
