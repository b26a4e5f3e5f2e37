/**
 * Tailscale Serve and Cloudflare Tunnel, which cannot run without their services: a stand-in at the address that clients
 * use sends Relay what each of them does by its documentation, and the settings of docs/operating/proxies.md must fit to that.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAll } from "../../bench/process.ts";
import { freePort } from "../../test/support/sqld.ts";
import { makeCertificate } from "./certificate.ts";
import { checkFront, type Front, untilFrontAnswers } from "./front-checks.ts";
import { relayBehind } from "./relay.ts";

interface Tunnel {
  readonly name: string;
  readonly host: string;
  /** The headers that Relay gets in addition, from the address of the client and what it sent as `X-Forwarded-For`. */
  headers(client: string, host: string, claimed: string | null): Record<string, string>;
}

const TUNNELS: readonly Tunnel[] = [
  {
    name: "Tailscale Serve",
    host: "studio.example.ts.net",
    // What clients claim is dropped.
    headers: (client, host) => ({
      "x-forwarded-for": client,
      "x-forwarded-host": host,
      "x-forwarded-proto": "https",
      "tailscale-user-login": "anna@example.com",
      "tailscale-user-name": "Anna",
    }),
  },
  {
    name: "Cloudflare Tunnel",
    host: "relay.example",
    // What clients claim stays in front.
    headers: (client, _host, claimed) => ({
      "x-forwarded-for": claimed === null ? client : `${claimed}, ${client}`,
      "x-forwarded-proto": "https",
      "cf-connecting-ip": client,
      "cf-visitor": '{"scheme":"https"}',
      "cf-ray": "8f0000000000000a-FRA",
    }),
  },
];

/** Hop-by-hop headers, and what the client of the stand-in would decode. */
const DROPPED = [
  "connection",
  "transfer-encoding",
  "accept-encoding",
  "content-encoding",
  "content-length",
];

async function tryTunnel(tunnel: Tunnel, print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const port = freePort();
  let stop = () => {};
  try {
    const certificate = Bun.which("curl") && (await makeCertificate(folder, tunnel.host));
    if (!certificate) {
      print(`${tunnel.name}: not tried, since openssl or curl is not installed`);
      return true;
    }
    const front: Front = { url: `https://${tunnel.host}:${port}`, ca: certificate.ca };
    const relay = await relayBehind(front.url, folder, children);
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port,
      idleTimeout: 60,
      tls: { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) },
      async fetch(request, { requestIP }) {
        const { pathname, search } = new URL(request.url);
        const headers = new Headers(request.headers);
        const client = requestIP.call(server, request)?.address ?? "";
        const added = tunnel.headers(
          client,
          headers.get("host") ?? "",
          headers.get("x-forwarded-for"),
        );
        for (const name of DROPPED) headers.delete(name);
        for (const [name, value] of Object.entries(added)) headers.set(name, value);
        const answer = await fetch(`http://127.0.0.1:${relay}${pathname}${search}`, {
          method: request.method,
          headers,
          body: request.method === "GET" ? null : await request.arrayBuffer(),
          redirect: "manual",
          signal: request.signal,
        });
        const back = new Headers(answer.headers);
        for (const name of DROPPED) back.delete(name);
        return new Response(answer.body, { status: answer.status, headers: back });
      },
    });
    stop = () => void server.stop(true);
    await untilFrontAnswers(front);
    const { faults } = await checkFront(front);
    print(
      `${tunnel.name}: ${faults.length === 0 ? "its settings fit the headers that a stand-in sends" : `FAILED: ${faults.join("; ")}`}. The program itself and its service were not tried, which needs an account there`,
    );
    return faults.length === 0;
  } finally {
    stop();
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tries both. Returns false if the settings of one do not fit. */
export async function tunnels(print: (line: string) => void): Promise<boolean> {
  let good = true;
  for (const tunnel of TUNNELS) good = (await tryTunnel(tunnel, print)) && good;
  return good;
}
