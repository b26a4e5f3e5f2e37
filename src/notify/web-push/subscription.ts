/** Checks the subscriptions that browsers send, and turns them into addresses (§19.6.2). */

import { createPublicKey } from "node:crypto";
import { isHost } from "../../host-names.ts";
import type { SubscriptionInput } from "../../model/channel.ts";

/** Characters of the endpoint of a subscription. */
const ENDPOINT_CHARACTERS = 1_000;

/** The address of a target, as JSON. */
export interface Subscription {
  readonly endpoint: string;
  /** An uncompressed point of P-256, 65 bytes, base64url. */
  readonly p256dh: string;
  /** 16 bytes, base64url. */
  readonly auth: string;
}

/**
 * Hosts of the push services of Google, Mozilla, Apple and Microsoft. The operator must name any other:
 * otherwise an account could have requests sent to any address.
 */
const SERVICES = [
  "fcm.googleapis.com",
  "*.google.com",
  "*.push.services.mozilla.com",
  "*.push.apple.com",
  "*.notify.windows.com",
];

/** Says why messages cannot be sent to an endpoint; null if they can. `hosts`: `WEB_PUSH_HOSTS`. */
export function endpointFault(endpoint: string, hosts: readonly string[]): string | null {
  const url = URL.parse(endpoint);
  if (url?.username !== "" || url.password !== "" || url.hash !== "" || !isHost(url)) {
    return "must have an endpoint that is a URL";
  }
  if (endpoint.length > ENDPOINT_CHARACTERS) return "has an endpoint that is too long";
  const named = hosts.includes(url.hostname) || hosts.includes(url.host);
  if (named && (url.protocol === "https:" || url.protocol === "http:")) return null;
  const known = SERVICES.some((host) =>
    host.startsWith("*") ? url.hostname.endsWith(host.slice(1)) : url.hostname === host,
  );
  if (known && url.protocol === "https:" && url.port === "") return null;
  return "belongs to a push service that this server does not send to";
}

/** True for an endpoint of Apple's push service. */
export const isApple = (endpoint: string): boolean =>
  URL.parse(endpoint)?.hostname.endsWith(".push.apple.com") ?? false;

/** Says what is wrong with the keys; null if nothing is. */
export function keysFault({ p256dh, auth }: SubscriptionInput["keys"]): string | null {
  if (bytesIn(auth)?.length !== 16) return "must have 16 bytes as auth";
  const point = bytesIn(p256dh);
  if (point?.length !== 65 || point[0] !== 4) return "must have 65 bytes as p256dh";
  return isOnCurve(point) ? null : "must have a point of P-256 as p256dh";
}

/** Bytes of base64url or base64, with or without padding; null for anything else. */
function bytesIn(text: string): Buffer | null {
  const plain = text
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/={1,2}$/, "");
  const bytes = Buffer.from(plain, "base64url");
  return bytes.toString("base64url") === plain ? bytes : null;
}

/** Encrypting for a point off the curve could reveal something about a key (RFC 8291, 7). */
function isOnCurve(point: Buffer): boolean {
  const part = (from: number) => point.subarray(from, from + 32).toString("base64url");
  try {
    createPublicKey({ key: { kty: "EC", crv: "P-256", x: part(1), y: part(33) }, format: "jwk" });
    return true;
  } catch {
    return false;
  }
}

/** The address for a subscription that has passed the checks above. */
export function toAddress({ endpoint, keys }: SubscriptionInput): string {
  const plain = (text: string) => bytesIn(text)!.toString("base64url");
  const { p256dh, auth } = keys;
  const address: Subscription = { endpoint, p256dh: plain(p256dh), auth: plain(auth) };
  return JSON.stringify(address);
}

/** Parses an address. An invalid one gives an empty endpoint, which `send` refuses as `invalid_url`. */
export function parseAddress(address: string): Subscription {
  try {
    return JSON.parse(address) as Subscription;
  } catch {
    return { endpoint: "", p256dh: "", auth: "" };
  }
}
