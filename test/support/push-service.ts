/**
 * A stand-in for the push service of browsers: it accepts messages for subscriptions as RFC 8030 says,
 * checks the sender by RFC 8292 and decrypts by RFC 8291 with the subscription's own keys, both without
 * the library that the service uses. Browsers are connected, or their messages wait by topic.
 */

import { afterAll } from "bun:test";
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  verify,
} from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { PushMessage } from "../../src/model/push-message.ts";

/** In the form of `PushSubscription.toJSON()`. */
export interface TestSubscription {
  readonly endpoint: string;
  readonly expirationTime: null;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

export interface Pushed {
  readonly endpoint: string;
  readonly message: PushMessage;
  readonly ttl: number;
  readonly urgency: string;
  readonly topic: string;
  /** The `Authorization` header, as sent. */
  readonly authorization: string;
  /** Bytes of the encrypted message. */
  readonly bytes: number;
}

/** `drop`: the connection closes without a response; `hang`: there is none. */
export type PushTreatment =
  | { readonly status: number; readonly retry_after?: string; readonly body?: string }
  | { readonly over: number }
  | "ok"
  | "drop"
  | "hang";

interface Browser {
  readonly keys: ECDH;
  readonly auth: Buffer;
  /** The key that it subscribed with; null: any key may send. */
  readonly client_key: string | null;
  connected: boolean;
  /** The waiting messages, by topic. */
  readonly waiting: Map<string, { readonly pushed: Pushed; readonly until: number }>;
}

export type PushService = Awaited<ReturnType<typeof startPushService>>;

interface Options {
  /** The time in epoch seconds, by which waiting messages expire. */
  readonly now?: () => number;
  /** Milliseconds until it responds. */
  readonly delay?: number;
}

export async function startPushService({ now = () => Date.now() / 1000, delay = 0 }: Options = {}) {
  const browsers = new Map<string, Browser>();
  const delivered: Pushed[] = [];
  const accepted: Pushed[] = [];
  const faults: string[] = [];
  let treat: (endpoint: string) => PushTreatment = () => "ok";
  let received = 0;
  let open = 0;
  const sockets = new Set<unknown>();

  const take = (path: string, headers: IncomingHttpHeaders, body: Buffer) => {
    const browser = browsers.get(path);
    if (!browser) return { status: 404 };
    const wrong: string[] = [];
    const endpoint = origin + path;
    const status = whoSends(headers.authorization ?? "", { origin, ...browser, wrong });
    const { ttl, urgency, topic } = readHeaders(headers, wrong);
    let message: PushMessage | undefined;
    try {
      message = JSON.parse(decrypt(body, browser).toString());
    } catch (error) {
      wrong.push(`not decrypted: ${error}`);
    }
    faults.push(...wrong);
    if (status !== 201) return { status };
    if (wrong.length > 0 || !message) return { status: 400 };
    const { authorization = "" } = headers;
    const pushed = { endpoint, message, ttl, urgency, topic, authorization, bytes: body.length };
    accepted.push(pushed);
    // Replaces the message waiting under the same topic, whether or not it waits itself.
    browser.waiting.delete(topic);
    if (browser.connected) delivered.push(pushed);
    else if (ttl > 0) browser.waiting.set(topic, { pushed, until: now() + ttl });
    return { status: 201 };
  };

  const server = createServer(async (request, response) => {
    received++;
    open++;
    response.on("close", () => open--);
    sockets.add(request.socket);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method, url = "", headers } = request;
    const treatment = treat(origin + url);
    if (treatment === "hang") return;
    if (treatment === "drop") return void request.socket.destroy();
    const body = Buffer.concat(parts);
    if (delay > 0) await Bun.sleep(delay);
    const answer = (): { status: number; retry_after?: string; body?: string } => {
      if (method !== "POST") return { status: 405 };
      if (typeof treatment === "object" && "status" in treatment) return treatment;
      if (typeof treatment === "object" && body.length > treatment.over) return { status: 413 };
      return take(url, headers, body);
    };
    const { status, retry_after, body: text = "" } = answer();
    const location = status === 201 ? { location: `${origin}/message/${accepted.length}` } : {};
    response.writeHead(status, { ...location, ...(retry_after && { "retry-after": retry_after }) });
    response.end(text);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise<void>((closed) => server.close(() => closed()));
  };
  afterAll(stop);

  return {
    origin,
    /** What Relay needs to send to the browser. */
    env: { VAPID_SUBJECT: "mailto:relay@example.com", WEB_PUSH_HOSTS: `127.0.0.1:${port}` },
    /** Messages that reached their browser. */
    delivered,
    /** Messages that were accepted, delivered or not. */
    accepted,
    /** Violations of RFC 8030, 8291 or 8292. */
    faults,
    received: () => received,
    /** Requests without a response so far. */
    open: () => open,
    /** Connections that were ever used. */
    connections: () => sockets.size,
    stop,

    /** Subscribes a browser, with the sender's key that it accepts. */
    subscribe(client_key: string | null = null): TestSubscription {
      const keys = createECDH("prime256v1");
      const p256dh = keys.generateKeys().toString("base64url");
      const auth = randomBytes(16);
      const path = `/push/${randomBytes(12).toString("base64url")}`;
      browsers.set(path, { keys, auth, client_key, connected: true, waiting: new Map() });
      return {
        endpoint: origin + path,
        expirationTime: null,
        keys: { p256dh, auth: auth.toString("base64url") },
      };
    },

    /** Unsubscribes the browser. */
    forget(endpoint: string): void {
      browsers.delete(endpoint.slice(origin.length));
    },

    disconnect(endpoint: string): void {
      browsers.get(endpoint.slice(origin.length))!.connected = false;
    },

    /** Waiting messages that have not expired arrive. */
    connect(endpoint: string): void {
      const browser = browsers.get(endpoint.slice(origin.length))!;
      browser.connected = true;
      for (const { pushed, until } of browser.waiting.values()) {
        if (until > now()) delivered.push(pushed);
      }
      browser.waiting.clear();
    },

    /** How it responds from now on, by the endpoint. */
    behave(next: PushTreatment | ((endpoint: string) => PushTreatment)): void {
      treat = typeof next === "function" ? next : () => next;
    },

    /** Messages delivered since the last call. */
    take: (): Pushed[] => delivered.splice(0),
  };
}

/** Notifications by tag, as a browser with these messages shows them: text and whether it rang. */
export function screenOf(pushed: readonly Pushed[]): Record<string, string> {
  return Object.fromEntries(
    pushed.map(({ message: { notification } }) => [notification.tag, notification.body]),
  );
}

function readHeaders(headers: IncomingHttpHeaders, wrong: string[]) {
  const { ttl, urgency = "", topic = "" } = headers as Record<string, string | undefined>;
  if (!/^\d{1,10}$/.test(ttl ?? "")) wrong.push("TTL");
  if (!["very-low", "low", "normal", "high"].includes(urgency)) wrong.push("Urgency");
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(topic)) wrong.push("Topic");
  if (headers["content-encoding"] !== "aes128gcm") wrong.push("Content-Encoding");
  if (headers["content-type"] !== "application/octet-stream") wrong.push("Content-Type");
  return { ttl: Number(ttl), urgency, topic };
}

interface Sender {
  readonly origin: string;
  readonly client_key: string | null;
  readonly wrong: string[];
}

/** RFC 8292: 201, or the status of a refusal. */
function whoSends(authorization: string, { origin, client_key, wrong }: Sender): number {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  const [header = "", claims = "", signature = ""] = token.split(".");
  const part = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString() || "{}");
  const { alg } = part(header);
  const { aud, exp, sub } = part(claims);
  const point = Buffer.from(key, "base64url");
  if (alg !== "ES256") wrong.push("alg");
  if (aud !== origin) wrong.push("aud");
  const life = exp - Date.now() / 1000;
  if (!(life > 0 && life <= 86_400)) wrong.push("exp");
  if (!/^(mailto:.+@.+|https:\/\/.+)$/.test(sub ?? "")) wrong.push("sub");
  if (wrong.length > 0 || point.length !== 65) return 401;
  const signed = Buffer.from(`${header}.${claims}`);
  const good = verify(
    "sha256",
    signed,
    { key: keyOf(point), dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  if (!good) wrong.push("signature");
  return good && (client_key === null || client_key === key) ? 201 : 403;
}

function keyOf(point: Buffer) {
  const at = (from: number) => point.subarray(from, from + 32).toString("base64url");
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x: at(1), y: at(33) }, format: "jwk" });
}

/** RFC 8291 with the encoding of RFC 8188; throws for messages that a browser would drop. */
export function decrypt(body: Buffer, { keys, auth }: Pick<Browser, "keys" | "auth">): Buffer {
  if (body.length > 4_096) throw new Error("more than 4,096 bytes");
  const salt = body.subarray(0, 16);
  const record_size = body.readUInt32BE(16);
  const id_length = body[20]!;
  const sender = body.subarray(21, 21 + id_length);
  const record = body.subarray(21 + id_length);
  if (record_size < 18 || record.length > record_size) throw new Error("record size");
  if (id_length !== 65) throw new Error("key id");
  const hkdf = (ikm: Uint8Array, salt: Uint8Array, info: Buffer, length: number) =>
    Buffer.from(hkdfSync("sha256", ikm, salt, info, length));
  const key_info = Buffer.concat([Buffer.from("WebPush: info\0"), keys.getPublicKey(), sender]);
  const ikm = hkdf(keys.computeSecret(sender), auth, key_info, 32);
  const content_key = hkdf(ikm, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = hkdf(ikm, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createDecipheriv("aes-128-gcm", content_key, nonce);
  cipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()]);
  const end = padded.findLastIndex((byte) => byte !== 0);
  if (padded[end] !== 2) throw new Error("padding");
  return padded.subarray(0, end);
}
