/** TLS served by the process itself: calls, streams, waits and MCP over it, and files that are refused. */

import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { connect } from "node:tls";
import {
  type CallToolResult,
  Client as McpClient,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createClient } from "../../src/client/client.ts";
import { readConfig } from "../../src/config.ts";
import { createHstsRule } from "../../src/http/security.ts";
import { loadTls, warnOfExpiry } from "../../src/http/tls.ts";
import { LIMITS } from "../../src/limits.ts";
import { createLog } from "../../src/log.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { CLIENT } from "../support/mcp.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tempFolder } from "../support/temp.ts";
import { createAuthority } from "../support/tls.ts";
import { until } from "../support/until.ts";

const authority = await createAuthority();
const identity = await authority.issue();
const folder = tempFolder();
const write = async (name: string, text: string): Promise<string> => {
  const file = join(folder, name);
  await Bun.write(file, text);
  return file;
};
const TLS_CERT_FILE = await write("cert.pem", identity.cert);
const TLS_KEY_FILE = await write("key.pem", identity.key);

const clock = createTestClock();
const app = await startTestApp({
  clock,
  env: { TLS_CERT_FILE, TLS_KEY_FILE, PUBLIC_URL: "https://relay.example" },
});
const url = app.local_url;

/** Checks the certificate against the authority. */
const trust = (input: string | URL | Request, init?: RequestInit) =>
  fetch(input, { ...init, tls: { ca: authority.ca } } as RequestInit);
const clientOf = (credential?: string) =>
  createClient({ url, fetch: trust, ...(credential !== undefined && { credential }) });

async function createPair() {
  const { token } = await clientOf().accounts.create();
  const { secret } = await clientOf(token).keys.create({ label: "agent" });
  return { token, secret, person: clientOf(token), agent: clientOf(secret) };
}

test("a client that trusts the authority calls, follows the stream and waits over TLS", async () => {
  expect(url).toStartWith("https://127.0.0.1:");
  const request = new Request(url, { headers: { host: "studio:1" } });
  expect(app.baseAddresses.ofRequest(request)).toBe("https://studio:1");
  const { person, agent } = await createPair();
  const ended = new AbortController();
  const names: string[] = [];
  const reading = (async () => {
    for await (const event of person.events({ signal: ended.signal })) names.push(event.name);
  })().catch(() => {});
  await until(() => names.includes("ready"));
  const asked = agent.questions.ask({ prompt: "Go on?", wait: 50 });
  await until(() => app.waits.count() === 1 && names.includes("question.created"));
  const { questions } = await person.questions.list();
  await person.questions.answer(questions[0]!.id, { answer: "Yes" });
  expect(await asked).toMatchObject({ status: "answered", answer: "Yes" });
  await until(() => names.includes("question.updated"));
  ended.abort();
  await reading;
  // A client that disconnects is noticed, as over plain http.
  const left = new AbortController();
  await agent.inbox.read();
  const leaving = agent.inbox.read({ wait: 50 }, { signal: left.signal }).catch(() => {});
  await until(() => app.waits.count() === 1);
  left.abort();
  await leaving;
  await until(() => app.waits.count() === 0 && app.streams.count() === 0);
});

test("an MCP client gets progress and the answer over TLS", async () => {
  const { person, secret } = await createPair();
  const client = new McpClient(CLIENT);
  const requestInit = { headers: { authorization: `Bearer ${secret}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch: trust, requestInit }),
  );
  const seen: number[] = [];
  const asked = client.callTool(
    { name: "ask_question", arguments: { prompt: "?", wait_seconds: 50 } },
    { onprogress: ({ progress }) => void seen.push(progress), timeout: 60_000 },
  ) as Promise<CallToolResult>;
  await until(() => clock.pendingIn(50) === 1);
  await clock.advance(LIMITS.sign_of_life);
  await until(() => seen.length === 1);
  const { questions } = await person.questions.list();
  await person.questions.answer(questions[0]!.id, { answer: "Yes" });
  expect((await asked).structuredContent).toMatchObject({ answer: "Yes" });
  await client.close();
});

test("plain http, TLS 1.1 and a client that does not trust the authority get no response", async () => {
  const health = (to: string) => fetch(`${to}/health`).then(({ status }) => status);
  expect(await rejectionOf(health(url.replace("https:", "http:")))).toBeInstanceOf(Error);
  expect((await rejectionOf(health(url))).message).toMatch(/certificate/);
  const versionOf = (maxVersion: "TLSv1.1" | "TLSv1.2") =>
    new Promise<string | null>((done) => {
      const { port } = new URL(url);
      const options = { ca: authority.ca, minVersion: "TLSv1", maxVersion } as const;
      const socket = connect({ host: "127.0.0.1", port: Number(port), ...options }, () => {
        done(socket.getProtocol());
        socket.destroy();
      });
      socket.on("error", () => done(null));
    });
  expect([await versionOf("TLSv1.2"), await versionOf("TLSv1.1")]).toEqual(["TLSv1.2", null]);
});

test("of processes that serve TLS, only one named by PUBLIC_URL sends HSTS [§1.2.10]", async () => {
  const hstsOf = async (host: string) => {
    const answer = await trust(`${url}/health`, { headers: { host } });
    return answer.headers.get("strict-transport-security");
  };
  expect(await hstsOf("relay.example")).toBe("max-age=31536000");
  for (const host of ["127.0.0.1", "localhost", "studio.local", "relay.example:8443"]) {
    expect([host, await hstsOf(host)]).toEqual([host, null]);
  }
});

test("shared names of a machine, addresses and self-signed certificates get no HSTS [§1.2.10]", () => {
  const pair = { self_signed: false };
  const headers = new Headers({ host: "127.0.0.1:3000" });
  const sends = (address: string | undefined, tls: typeof pair | null = null) =>
    createHstsRule(address, tls)?.(headers) ?? false;
  // Behind a proxy, which may send its own host.
  expect(sends("https://relay.example:8443/x")).toBe(true);
  for (const address of [
    ...["http://relay.example", "https://localhost", "https://relay.localhost:1", "https://relay"],
    ...["https://studio.local", "https://studio.local.", "https://10.0.0.1", "https://[fd00::2]"],
    undefined,
  ]) {
    expect([address, sends(address)]).toEqual([address, false]);
  }
  expect(createHstsRule("https://relay.example", { ...pair, self_signed: true })).toBeNull();
});

test("an unusable certificate or key is named by its variable, in one line", async () => {
  const other = await authority.issue();
  const broken = `${identity.cert}\n-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n`;
  const key = await write("other-key.pem", other.key);
  const text = await write("text.pem", "no PEM\n");
  const none = join(folder, "none.pem");
  for (const [env, message] of [
    [{ TLS_CERT_FILE }, /^TLS_KEY_FILE: is needed when TLS_CERT_FILE is set$/],
    [{ TLS_KEY_FILE }, /^TLS_CERT_FILE: is needed when TLS_KEY_FILE is set$/],
    [{ TLS_CERT_FILE: none, TLS_KEY_FILE }, /^TLS_CERT_FILE: .*\(ENOENT\)$/],
    [{ TLS_CERT_FILE, TLS_KEY_FILE: none }, /^TLS_KEY_FILE: .*\(ENOENT\)$/],
    [{ TLS_CERT_FILE: text, TLS_KEY_FILE }, /^TLS_CERT_FILE: is not a PEM file/],
    [{ TLS_CERT_FILE: TLS_KEY_FILE, TLS_KEY_FILE }, /^TLS_CERT_FILE: is not a PEM file/],
    [{ TLS_CERT_FILE: await write("chain.pem", broken), TLS_KEY_FILE }, /^TLS_CERT_FILE: has a/],
    [{ TLS_CERT_FILE, TLS_KEY_FILE: text }, /^TLS_KEY_FILE: is not a PEM file/],
    [{ TLS_CERT_FILE, TLS_KEY_FILE: TLS_CERT_FILE }, /^TLS_KEY_FILE: is not a PEM file/],
    [{ TLS_CERT_FILE, TLS_KEY_FILE: key }, /^TLS_KEY_FILE: is not the key of/],
  ] as const) {
    const fault = await (async () => loadTls(readConfig(env)))().catch((error) => error);
    expect([fault.name, fault.message]).toEqual(["ConfigError", expect.stringMatching(message)]);
    // Two of these concern the pair rather than one file.
    if (!/is needed|is not the key/.test(fault.message)) expect(fault.message).toContain(folder);
  }
  const wrong = startTestApp({ env: { TLS_CERT_FILE, TLS_KEY_FILE: key } });
  expect((await rejectionOf(wrong)).message).toMatch(/^TLS_KEY_FILE: is not the key of/);
  const env = { TLS_CERT_FILE, TLS_KEY_FILE };
  expect(await loadTls(readConfig(env))).toMatchObject({ self_signed: false });
  expect(await loadTls(readConfig({}))).toBeNull();
});

test("a self-signed certificate is recognised", async () => {
  const [cert, key] = [
    await write("root.pem", authority.ca),
    await write("root-key.pem", authority.key),
  ];
  const tls = await loadTls(readConfig({ TLS_CERT_FILE: cert, TLS_KEY_FILE: key }));
  expect(tls?.self_signed).toBe(true);
});

test("a start warns of a certificate that has expired or expires within 14 days", async () => {
  const env = { TLS_CERT_FILE, TLS_KEY_FILE };
  const tls = (await loadTls(readConfig(env)))!;
  expect(tls.expires_at).toBe(new X509Certificate(identity.cert).validToDate.getTime() / 1000);
  const day = 86_400;
  const expires_at = new Date(tls.expires_at * 1000).toISOString();
  for (const [left, event] of [
    [30 * day, null],
    [14 * day + 1, null],
    [14 * day, "TLS certificate expires soon"],
    [1, "TLS certificate expires soon"],
    [0, "TLS certificate expired"],
    [-day, "TLS certificate expired"],
  ] as const) {
    const lines: string[] = [];
    const log = createLog("warn", (line) => lines.push(line));
    warnOfExpiry(tls, tls.expires_at - left, log);
    const logged = lines.map((line) => JSON.parse(line));
    const expected = event === null ? [] : [expect.objectContaining({ event, expires_at })];
    expect([left, logged]).toEqual([left, expected]);
  }
  // The certificates of this file are valid for 30 days.
  expect(app.lines.join()).not.toContain("TLS certificate");
  const late = createTestClock();
  late.shiftWall(20 * day);
  const warned = await startTestApp({ clock: late, env });
  expect(warned.lines.join()).toContain('"level":"warn","event":"TLS certificate expires soon"');
});
