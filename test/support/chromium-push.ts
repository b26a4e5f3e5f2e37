/**
 * A stand-in for the push service behind Chromium: check-in, registration, and the connection that
 * brings messages to the browser (MCS: protobuf over TLS). An application server posts to
 * `<url>/send/<token>`, as RFC 8030 says. Only the fields that the browser needs are there.
 */

import { afterAll } from "bun:test";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { createAuthority } from "./tls.ts";

/** Tags and version of MCS messages. */
const MCS = { version: 41, ping: 0, ack: 1, login: 2, welcome: 3, close: 4, data: 8 } as const;

type Value = string | number | bigint | Uint8Array;

function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}

/** A protobuf message with these fields: numbers as varint, bigints as fixed64, the rest by length. */
function message(...fields: readonly (readonly [number: number, value: Value])[]): Buffer {
  return Buffer.concat(
    fields.map(([number, value]) => {
      if (typeof value === "number") {
        return Buffer.from([...varint(number << 3), ...varint(value)]);
      }
      if (typeof value === "bigint") {
        const fixed = Buffer.alloc(8);
        fixed.writeBigUInt64LE(value);
        return Buffer.concat([Buffer.from(varint((number << 3) | 1)), fixed]);
      }
      const bytes = Buffer.from(value as string);
      return Buffer.concat([
        Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]),
        bytes,
      ]);
    }),
  );
}

const frame = (tag: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([tag, ...varint(body.length)]), body]);

interface Registration {
  /** The subscription's id in the browser. */
  readonly subtype: string;
  /** The application server's key. */
  readonly sender: string;
}

interface PushRequest {
  readonly token: string;
  readonly status: number;
  readonly headers: Headers;
}

export async function startChromiumPush() {
  const registrations = new Map<string, Registration>();
  const sockets = new Set<TLSSocket>();
  const requests: PushRequest[] = [];
  /** Messages that wait for the browser to connect. */
  const waiting: Buffer[] = [];
  let status: number | null = null;

  const deliver = (bytes: Buffer) => {
    const [socket] = sockets;
    if (socket) socket.write(bytes);
    else waiting.push(bytes);
  };

  const http = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/checkin") {
        // stats_ok, time_msec, android_id, security_token, version_info.
        const fields = [
          [1, 1],
          [3, Date.now()],
          [7, 1_234n],
          [8, 5_678n],
          [11, "1"],
        ] as const;
        return new Response(new Uint8Array(message(...fields)));
      }
      if (pathname === "/register") {
        const form = new URLSearchParams(await request.text());
        const token = `${registrations.size}-${crypto.randomUUID()}`;
        if (form.get("delete") === "true") return new Response("token=gone");
        registrations.set(token, {
          subtype: form.get("X-subtype") ?? "",
          sender: form.get("sender") ?? "",
        });
        return new Response(`token=${token}`);
      }
      const [, token = ""] = /^\/send\/(.+)$/.exec(pathname) ?? [];
      const registration = registrations.get(token);
      const body = await request.bytes();
      const answer = (code: number) => {
        requests.push({ token, status: code, headers: request.headers });
        return new Response(null, { status: code, headers: { location: `/message/${token}` } });
      };
      if (status !== null) return answer(status);
      if (!registration) return answer(410);
      const encoding = request.headers.get("content-encoding") ?? "";
      deliver(
        frame(
          MCS.data,
          // from, category, app_data (key, value), persistent_id, ttl, sent, raw_data.
          message(
            [3, registration.sender],
            [5, "org.chromium.linux"],
            [7, message([1, "subtype"], [2, registration.subtype])],
            [7, message([1, "content-encoding"], [2, encoding])],
            [9, crypto.randomUUID()],
            [17, 60],
            [18, Date.now()],
            [21, body],
          ),
        ),
      );
      return answer(201);
    },
  });

  const { key, cert } = await (await createAuthority()).issue();
  const mcs = createServer({ key, cert }, (socket) => {
    let begun = false;
    socket.on("error", () => null);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes) => {
      if (begun) {
        if (bytes[0] === MCS.ping) socket.write(frame(MCS.ack, message()));
        return;
      }
      // The version and the login, whose fields do not matter here.
      begun = true;
      socket.write(Buffer.from([MCS.version]));
      socket.write(frame(MCS.welcome, message([1, "1"], [8, Date.now()])));
      sockets.add(socket);
      for (const one of waiting.splice(0)) socket.write(one);
    });
  });
  await new Promise<void>((listening) => mcs.listen(0, "127.0.0.1", listening));
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    mcs.close();
    await http.stop(true);
  });

  const url = `http://127.0.0.1:${http.port}`;
  return {
    url,
    host: `127.0.0.1:${http.port}`,
    /** Browser arguments that make it accept the certificate of this connection, and no other. */
    args: [
      `--gcm-checkin-url=${url}/checkin`,
      `--gcm-registration-url=${url}/register`,
      `--gcm-mcs-endpoint=https://127.0.0.1:${(mcs.address() as AddressInfo).port}`,
      "--ignore-certificate-errors",
    ],
    registrations,
    /** What application servers sent, with the responses. */
    requests,
    connected: () => sockets.size > 0,
    /** Responds to everything with this status from now on; null: as a push service does. */
    behave(next: number | null) {
      status = next;
    },
  };
}
