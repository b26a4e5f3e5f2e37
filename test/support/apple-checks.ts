/** What Apple's push service reads from a request, and what it refuses. */

import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http2";

export const TEAM = "TEAM123456";
export const BUNDLE = "com.example.relay";

/** One request that arrived completely. */
export interface Received {
  readonly token: string;
  readonly apns_id: string;
  readonly type: string;
  readonly topic: string;
  /** 10 when the header is absent, like Apple's default. */
  readonly priority: number;
  readonly expiration: number;
  readonly collapse_id: string | undefined;
  /** The provider token. */
  readonly jwt: string;
  readonly bytes: number;
  readonly payload: any;
  /** `performance.now()` and the service's own time on arrival. */
  readonly at: number;
  readonly time: number;
  /** The number of its connection. */
  readonly session: number;
}

/** A request as the service reads it. */
export function readRequest(
  headers: IncomingHttpHeaders,
  body: Buffer,
  session: number,
  time: number,
): Received {
  const text = (name: string) => (headers[name] as string | undefined) ?? "";
  let payload: unknown;
  try {
    payload = JSON.parse(body.toString("utf8"));
  } catch {
    payload = undefined;
  }
  return {
    token: text(":path").replace("/3/device/", ""),
    apns_id: text("apns-id"),
    type: text("apns-push-type"),
    topic: text("apns-topic"),
    priority: Number(text("apns-priority") || 10),
    expiration: Number(text("apns-expiration") || Number.NaN),
    collapse_id: headers["apns-collapse-id"] as string | undefined,
    jwt: text("authorization").replace(/^bearer /, ""),
    bytes: body.length,
    payload,
    at: performance.now(),
    time,
    session,
  };
}

interface Known {
  readonly headers: IncomingHttpHeaders;
  readonly key_id: string;
  readonly publicKey: KeyObject;
  readonly now: number;
}

const SUFFIX: Record<string, string> = {
  alert: "",
  background: "",
  liveactivity: ".push-type.liveactivity",
  widgets: ".push-type.widgets",
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Why Apple would refuse the request; undefined if it would not. */
export function refusalOf(request: Received, body: Buffer, known: Known) {
  const { type, topic, payload } = request;
  const bad = (reason: string, status = 400) => ({ status, reason });
  if (known.headers[":method"] !== "POST") return bad("MethodNotAllowed", 405);
  if (!String(known.headers[":path"]).startsWith("/3/device/")) return bad("BadPath", 404);
  if (!/^[0-9a-f]+$/.test(request.token)) return bad("BadDeviceToken");
  const unsigned = checkJwt(request.jwt, known);
  if (unsigned) return bad(unsigned, 403);
  if (!(type in SUFFIX)) return bad("InvalidPushType");
  if (topic === "") return bad("MissingTopic");
  if (topic !== BUNDLE + SUFFIX[type]) return bad("BadTopic");
  if (![1, 5, 10].includes(request.priority)) return bad("BadPriority");
  if (type === "background" && request.priority !== 5) return bad("BadPriority");
  if (!Number.isInteger(request.expiration)) return bad("BadExpirationDate");
  if (request.expiration < known.now - 1) return bad("BadExpirationDate");
  if (!UUID.test(request.apns_id)) return bad("BadMessageId");
  if (Buffer.byteLength(request.collapse_id ?? "") > 64) return bad("BadCollapseId");
  if (body.length === 0) return bad("PayloadEmpty");
  if (body.length > 4096) return bad("PayloadTooLarge", 413);
  const aps = payload?.aps;
  if (typeof aps !== "object") return bad("BadPayload");
  if (type === "background" && JSON.stringify(aps) !== '{"content-available":1}') {
    return bad("BadPayload");
  }
  if (type === "widgets" && JSON.stringify(aps) !== '{"content-changed":true}') {
    return bad("BadPayload");
  }
  if (type === "alert" && !(aps.alert?.title && aps.alert?.body)) return bad("BadPayload");
  if (type === "liveactivity") {
    const start = aps.event === "start";
    const sound = Number.isInteger(aps.timestamp) && typeof aps["content-state"] === "object";
    const named = aps["attributes-type"] && aps.attributes && aps.alert;
    if (!sound || !["start", "update", "end"].includes(aps.event)) return bad("BadPayload");
    if (start && !named) return bad("BadPayload");
    if (aps.event === "end" && !Number.isInteger(aps["dismissal-date"])) return bad("BadPayload");
  }
  return undefined;
}

const verified = new Set<string>();

/** The reason of Apple's 403; undefined if the provider token is valid. */
function checkJwt(jwt: string, { key_id, publicKey, now }: Known): string | undefined {
  if (jwt === "") return "MissingProviderToken";
  const [head = "", claims = "", signature = ""] = jwt.split(".");
  let header: any;
  let body: any;
  try {
    header = JSON.parse(Buffer.from(head, "base64url").toString());
    body = JSON.parse(Buffer.from(claims, "base64url").toString());
  } catch {
    return "InvalidProviderToken";
  }
  if (header.alg !== "ES256" || header.kid !== key_id || body.iss !== TEAM) {
    return "InvalidProviderToken";
  }
  if (!Number.isInteger(body.iat) || body.iat > now + 60) return "InvalidProviderToken";
  if (body.iat < now - 3600) return "ExpiredProviderToken";
  // Each signature is checked once: tests send thousands with the same one.
  if (!verified.has(jwt)) {
    const key = {
      key: createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
      dsaEncoding: "ieee-p1363" as const,
    };
    const good = verify(
      "sha256",
      Buffer.from(`${head}.${claims}`),
      key,
      Buffer.from(signature, "base64url"),
    );
    if (!good) return "InvalidProviderToken";
    verified.add(jwt);
  }
  return undefined;
}
