/** Values of the environment that cannot be used (§16). */

import { expect, test } from "bun:test";
import { ConfigError, readConfig } from "../src/config.ts";
import { readNamedFile, thisUser, whyUnreadable } from "../src/config-files.ts";
import { apns } from "../src/notify/apns/channel.ts";
import { createTestClock } from "./support/clock.ts";
import { createNetwork } from "./support/outbound.ts";
import { rejectionOf } from "./support/rejection.ts";
import { tempFolder } from "./support/temp.ts";

test("an invalid value is named by its variable and never shown", () => {
  const bad = {
    PORT: ["65536", "-1", "http"],
    HOST: ["127.0.0.1 ", "127.0.0.1\r", '"127.0.0.1"', "http://127.0.0.1"],
    PUBLIC_URL: [
      "relay.example",
      "ftp://x",
      "https://x/?secret",
      "http://a:secret@x",
      "https://secret.example ",
      "https://secret.example\r",
      "https://secret.example/a b",
      "https://secret.example//",
      "https://secret.example/a//b",
      "https:///secret.example",
      "https://secret.example\\",
      "https://secret.example/a\\b",
      "https://secret.example/..",
      "https://secret.example/a/../b",
      "https://secret.example/a/%2E%2e/b",
      "https://secret.example/./a",
      'https://secret.example/"a"',
      '"https://secret.example"',
      "https://secret.example:99999",
    ],
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
      'file:"/data/secret.db"',
      "file:'secret.db'",
    ],
    ADMIN_TOKEN: [
      "x".repeat(31),
      "a secret of more than 32 characters, with spaces",
      "é".repeat(40),
      `${"x".repeat(40)}\n`,
    ],
    DATABASE_ENCRYPTION_KEY: [
      "a secret passphrase",
      "x".repeat(43),
      "ab".repeat(32),
      Buffer.from("secret".repeat(5)).toString("base64"),
    ],
    BACKUP_DIR: ["~/secret", " /secret", "/secret ", "/secret\r", "/sec\nret"],
    BACKUP_URL: [
      "file:secret.db",
      "libsql://secret",
      "http://user:secret@host",
      "http://host:99999",
    ],
    BACKUP_EVERY: ["48", "30s", "0m", "31d", "-3h", "1.5h", "secret"],
    BACKUP_KEEP: ["1001", "-7", "secret"],
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
      '"secret.example"',
      "secret.example;b.example",
    ],
    OUTBOUND_PRIVATE: [
      "secret",
      "10.0.0.0",
      "10.0.0.0/33",
      "10.0.0.0/8,",
      // Parsers read these as networks other than they seem to name.
      "10/8",
      "192.168/16",
      "127.1/32",
      "012.0.0.0/8",
      "0x0a.0.0.0/8",
      "0x0a000000/8",
      "167772160/8",
      "10.0.0.0/010",
      "10.0.0.0/0x8",
      "10.0.0.0/8/8",
      "10.0.0.0/ 8",
      "10.0.0.256/8",
      "fd00::/129",
      "fd00:/8",
      "fe80::1%eth0/64",
      "192.168.0.0/16,10/8",
    ],
    OUTBOUND_PROXY: [
      "secret:3128",
      "socks5://secret:1080",
      "http://user:secret@host/path",
      "http://user:secret@host?x",
      "http://user:secret@ho st",
      "http://secret.example\\x",
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
  expect(() => readConfig({ VAPID_SUBJECT: `mailto:${"x".repeat(200)}@x` })).toThrow(/at most 200/);
  expect(readConfig({ PORT: "", LOG_LEVEL: "" })).toMatchObject({ PORT: 3000, LOG_LEVEL: "info" });
});

test("white space, quotes and other remains around a value are named", () => {
  const said = (env: Record<string, string>) => {
    try {
      readConfig(env);
      return "nothing";
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(said({ PORT: "3000\r" })).toBe(
    "PORT: must be a number from 0 to 65535; it has a carriage return, as files made on Windows have",
  );
  expect(said({ LOG_LEVEL: " debug" })).toEndWith("; it has white space at its beginning or end");
  expect(said({ PUBLIC_URL: '"https://relay.example"' })).toEndWith(
    "; it has quotes around it, which are part of the value",
  );
  expect(said({ RATE_LIMITS: "'off' " })).toEndWith(
    "at its beginning or end and quotes around it, which are part of the value",
  );
  expect(said({ CORS_ORIGINS: "https://a.example, b.example" })).toEndWith("; number 2 is not");
  expect(said({ PUBLIC_URL: "https://relay.example/a/../b" })).toContain("..");
  expect(said({ PUBLIC_URL: "https://relay.example\\a" })).toContain("backslash");
  expect(said({ PUBLIC_URL: "https://relay.example//a" })).toContain("//");
});

test("BACKUP_URL needs a libSQL server", () => {
  const BACKUP_URL = "http://127.0.0.1:8081";
  expect(() => readConfig({ BACKUP_URL })).toThrow("is only for a libSQL server");
  expect(readConfig({ BACKUP_URL, DATABASE_URL: "http://127.0.0.1:8080" })).toMatchObject({
    BACKUP_URL,
  });
});

test("values in another spelling, or with spaces or line endings around them, are accepted", () => {
  const urls = [
    "https://relay.example/",
    "https://büro.example",
    "http://[::1]:3000/a/b",
    "https://Relay.example:443/x-y_z.1/é%20",
  ];
  for (const PUBLIC_URL of urls) expect(readConfig({ PUBLIC_URL })).toMatchObject({ PUBLIC_URL });
  expect(
    readConfig({
      OUTBOUND_PRIVATE: "10.0.0.0/8, 192.168.1.5/16,fd00::/8 ,::1/128,0.0.0.0/0",
      OUTBOUND_PROXY: " http://proxy.example:3128/\r\n",
      DATABASE_AUTH_TOKEN: "token\n",
      CORS_ORIGINS: " https://a.example , http://b.example\r",
      ALLOWED_HOSTS: "relay.lan, BOX.example.",
    }),
  ).toMatchObject({
    OUTBOUND_PRIVATE: ["10.0.0.0/8", "192.168.1.5/16", "fd00::/8", "::1/128", "0.0.0.0/0"],
    OUTBOUND_PROXY: "http://proxy.example:3128/",
    DATABASE_AUTH_TOKEN: "token",
    CORS_ORIGINS: ["https://a.example", "http://b.example"],
    ALLOWED_HOSTS: ["relay.lan", "box.example"],
  });
});

test("an encryption key is the same 32 bytes in base64, base64url and hex", () => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i * 7));
  const texts = [key.toString("base64"), key.toString("base64url"), key.toString("hex")];
  for (const text of [...texts, texts[2]!.toUpperCase(), texts[0]!.replace("=", "")]) {
    const { DATABASE_ENCRYPTION_KEY: read } = readConfig({ DATABASE_ENCRYPTION_KEY: text });
    expect(Buffer.from(read!)).toEqual(key);
  }
});

test("a file that cannot be read is named with its variable and the user", async () => {
  const folder = tempFolder();
  const said = (path: string) =>
    readNamedFile("TLS_KEY_FILE", path).then(
      () => "nothing",
      (error: Error) => `${error.name}: ${error.message}`,
    );
  expect(await said(`${folder}/none.pem`)).toBe(
    `ConfigError: TLS_KEY_FILE: there is no file ${folder}/none.pem (ENOENT)`,
  );
  expect(await said(`${folder}/none.pem\r`)).toContain(`${folder}/none.pem\\r" (ENOENT)`);
  expect(await said("/dev/zero")).toBe(
    "ConfigError: TLS_KEY_FILE: the file /dev/zero is larger than 1 MiB",
  );
  expect(await said(folder)).toContain(`${folder} is a folder, not a file (EISDIR)`);
  expect(await said("-----BEGIN PRIVATE KEY-----\nMIGH\n")).not.toContain("MIGH");
  const why = whyUnreadable("/etc/key.pem", { code: "EACCES" });
  expect(why).toBe(`the user ${thisUser()} may not read /etc/key.pem (EACCES)`);
  expect(thisUser()).toContain(String(process.getuid?.() ?? ""));
});

test("of a key that may be PEM text or a path, only a path is shown", async () => {
  const key = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg";
  const said = async (APNS_PRODUCTION_KEY: string) => {
    const env = { APNS_TEAM_ID: "T1", APNS_BUNDLE_ID: "a.b", APNS_PRODUCTION_KEY_ID: "K1" };
    const config = readConfig({ ...env, APNS_PRODUCTION_KEY });
    const { message } = await rejectionOf(apns.connect(config, createTestClock(), createNetwork()));
    return message;
  };
  expect(await said(key)).not.toContain(key);
  expect(await said("/dev/zero")).toBe(
    "APNS_PRODUCTION_KEY: the file /dev/zero is larger than 1 MiB",
  );
  expect(await said("/run/secrets/apns.p8")).toBe(
    "APNS_PRODUCTION_KEY: there is no file /run/secrets/apns.p8 (ENOENT)",
  );
  const flat = `-----BEGIN PRIVATE KEY-----\\n${key}\\n-----END PRIVATE KEY-----`;
  expect(await said(flat)).toContain("it has \\n where its lines should end");
  expect(await said(flat)).not.toContain(key);
});
