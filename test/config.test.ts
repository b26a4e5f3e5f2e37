/** Values of the environment that cannot be used (docs/interface.md 16). */

import { expect, test } from "bun:test";
import { ConfigError, readConfig } from "../src/config.ts";

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
      "file:~/secret.db",
      "file:secret.db\r",
      "file:secret.db ",
      "file: secret.db",
      "file:/data/sec\nret.db",
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
    ALLOWED_HOSTS: [
      "https://secret.example",
      "secret.example:3000",
      "*.secret.example",
      "secret.example/x",
      "a.example,,secret.example",
      "secret@a.example",
    ],
    OUTBOUND_PRIVATE: ["secret", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/8,"],
    OUTBOUND_PROXY: [
      "secret:3128",
      "socks5://secret:1080",
      "http://user:secret@host/path",
      "http://user:secret@host?x",
      "http://user:secret%zz@host",
      "http://user:secret%0d%0a@host",
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
