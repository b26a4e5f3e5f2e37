/** README's configuration table is the one in the code. */

import { expect, test } from "bun:test";
import { CONFIG, ConfigError, readConfig } from "../../src/config.ts";
import { startTestApp } from "../support/app.ts";
import { client } from "../support/client.ts";
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
  const { id } = await until(() => {
    const found = /"question":(\{.*?\})\}/.exec(output());
    return found && (JSON.parse(found[1]!) as { id: string });
  });
  const [token] = /mca_[\w-]{43}/.exec(output())!;
  // The wait of the last command ends with the answer.
  const path = `/v1/questions/${id}/answer` as const;
  await client(app.url, token)(`POST ${path}`, { answer: "Yes" });
  expect(await script.exited).toBe(0);
  const said = await until(() => output().includes('"answer":"Yes"') && output());
  for (const part of ["event: ready", "event: task.created", '"title":"Ship it"', "Deploy now?"]) {
    expect(said).toContain(part);
  }
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
    PUBLIC_URL: ["relay.example", "ftp://x", "https://x/?secret"],
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
    ACCOUNT_CREATION: ["secret"],
    TASK_RETENTION_DAYS: ["-1", "1.5", "ever"],
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
