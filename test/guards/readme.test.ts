/** README's configuration table is the one in the code. */

import { expect, test } from "bun:test";
import { CONFIG, ConfigError, readConfig } from "../../src/config.ts";

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
