/** README's configuration table is the one in the code. */

import { expect, test } from "bun:test";
import { appRouter } from "../../routers/index.ts";
import { CONFIG, ConfigError, readConfig } from "../../src/config.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPair } from "../support/client.ts";
import { until } from "../support/until.ts";

const root = new URL("../../", import.meta.url);

test("README lists every variable with its default", async () => {
  const padded = await Bun.file(new URL("README.md", root)).text();
  const readme = padded.replace(/ +/g, " ");
  const rows = Object.entries(CONFIG).map(([name, { doc, schema }]) => {
    const standard = schema.parse(undefined);
    return `| \`${name}\` | ${standard === undefined ? "" : `\`${standard}\` `}| ${doc} |`;
  });
  for (const row of rows) expect(readme).toContain(row);
  expect(readme.match(/^\| `[A-Z_]+` \|/gm)?.length).toBe(rows.length);
});

test.if(Bun.which("curl") !== null)("the tour works as it stands in README", async () => {
  const app = await startTestApp();
  const readme = await Bun.file(new URL("README.md", root)).text();
  const [, tour = ""] = /## A tour with curl\n\n```sh\n([^`]+)```/.exec(readme) ?? [];
  const here = tour.replaceAll("localhost:3000", new URL(app.url).host);
  // The token is shown after the first line, so that this test can answer.
  const told = here.replace("\n", '\necho "$TOKEN"\n');
  const script = Bun.spawn(["bash", "-c", `${told}\nkill %1`], { stdout: "pipe", stderr: "pipe" });
  const output = collect(script.stdout);
  const [token] = await until(() => /mca_[\w-]{43}/.exec(output()));
  const send = client(app.url, token);
  const [question] = await until(async () => {
    const { body } = await send("GET /v1/questions");
    return body.questions.length > 0 && body.questions;
  });
  // The wait of the last command ends with the answer.
  await send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  expect(await script.exited).toBe(0);
  await until(() => output().includes('"answer":"Yes"'));
  // The stream runs beside the commands, so what it shows of them is a matter of luck.
  for (const part of ['"title":"Ship it"', "Deploy now?"]) expect(output()).toContain(part);
});

test("the files that README gives MCP clients reach the endpoint with the key", async () => {
  const app = await startTestApp();
  const { agent } = await createPair(app.url);
  const readme = await Bun.file(new URL("README.md", root)).text();
  const [, part = ""] = /## Agents over MCP\n(.+?)\n## /s.exec(readme) ?? [];
  const files = [...part.matchAll(/```json\n(.+?)```/gs)].map(([, text]) => JSON.parse(text!));
  const [cursor, code] = files;
  expect([files.length, code.servers.relay.type, code.inputs[0].id]).toEqual([
    2,
    "http",
    "relay-key",
  ]);
  for (const { url, headers } of [cursor.mcpServers.relay, code.servers.relay]) {
    const authorization = headers.Authorization.replace(
      /\$\{(env:RELAY_KEY|input:relay-key)\}/,
      agent.secret,
    );
    const answer = await fetch(url.replace("http://127.0.0.1:3000", app.url), {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(answer.status).toBe(200);
  }
  // Every tool is told of.
  const names = Object.values(appRouter._def.procedures as unknown as Record<string, any>)
    .map((procedure) => procedure._def.meta.mcp?.name)
    .filter((name) => name !== undefined);
  for (const name of names) expect(part).toContain(`\`${name}\``);
});

/** What a stream has given so far. */
function collect(stream: ReadableStream<Uint8Array>): () => string {
  let text = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  })();
  return () => text;
}

test("a value that cannot be used is named, and never shown", () => {
  const bad = {
    PORT: ["65536", "-1", "http"],
    PUBLIC_URL: ["relay.example", "ftp://x", "https://x/?secret", "http://a:secret@x"],
    DATABASE_URL: [
      "relay.db",
      "file::memory:",
      "file:http://host/secret",
      "file://host/secret",
      "postgres://user:secret@host",
      "http://host/#secret",
      "http://host/?authToken=secret",
      "http://user:secret@host:99999",
    ],
    ADMIN_TOKEN: [
      "x".repeat(31),
      "a secret of more than 32 characters, with spaces",
      "é".repeat(40),
      `${"x".repeat(40)}\n`,
    ],
    TRUST_PROXY: ["-1", "1.5", "secret", "100"],
    CORS_ORIGINS: [
      "*",
      "secret",
      "https://a.example/",
      "https://A.example",
      "https://a.example,",
      "null",
    ],
    RATE_LIMITS: ["secret"],
    ACCOUNT_CREATION: ["secret"],
    ATTEST: ["on", "secret"],
    ATTEST_APP_ID: ["com.example.app", "A1B2C3D4E5", "a1b2c3d4e5.app", "A1B2C3D4E5.a b"],
    TASK_RETENTION_DAYS: ["-1", "1.5", "ever"],
    APNS_TEAM_ID: ["secret one", "a-secret"],
    APNS_BUNDLE_ID: ["secret bundle", "com.example/secret"],
    APNS_PRODUCTION_KEY_ID: ["a secret"],
    APNS_SANDBOX_KEY_ID: ["-secret"],
    APNS_PRODUCTION_URL: ["http://127.0.0.1:1", "https://secret/path", "secret"],
    APNS_SANDBOX_URL: ["http://127.0.0.1:1", "https://user:secret@host"],
    PUSH_CONTENT: ["secret"],
    LOG_LEVEL: ["secret"],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      const read = () => readConfig({ [name]: value });
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(new RegExp(`^${name}: `));
      expect(read).not.toThrow(value);
    }
  }
  expect(readConfig({ PORT: "", LOG_LEVEL: "" })).toMatchObject({ PORT: 3000, LOG_LEVEL: "info" });
});
