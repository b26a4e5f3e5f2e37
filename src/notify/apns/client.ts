/**
 * Client of Apple's push service. apns2 builds requests and parses errors; the transport is Bun's
 * HTTP/2, since apns2's own does not run on Bun. All requests share one provider token.
 */

import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { ApnsClient, ApnsError, Notification, type NotificationOptions } from "apns2";
import type { Clock } from "../../clock.ts";
import type { DirectFetch } from "../../outbound/direct-fetch.ts";
import { codeOf, createTimedRequests, readText, UNCONNECTED } from "../core/requests.ts";
import { isCalledHtml } from "../core/web-page.ts";
import { type ApnsAnswer, EXPIRED_PROVIDER_TOKEN } from "./classify.ts";
import type { ApnsRequest } from "./payloads.ts";

interface ApnsOptions {
  /** Origin of the service. */
  readonly url: string;
  readonly team_id: string;
  readonly bundle_id: string;
  readonly key_id: string;
  /** PEM of a P-256 private key. */
  readonly key: string;
  /** PEM of the only CA to trust; undefined: those of the system. */
  readonly ca: string | undefined;
  readonly direct: DirectFetch;
  readonly clock: Clock;
}

export const APPLE = {
  production: "https://api.push.apple.com",
  sandbox: "https://api.sandbox.push.apple.com",
};

/** Bytes of an answer at most; Apple's have a few hundred. */
const ANSWER_BYTES = 65_536;

/** Codes by which the service says that it did not process the request. */
const REFUSED = /^HTTP2Refused/;

/** Makes the client of one environment. Throws if `key` is not a P-256 private key. */
export function createApnsClient(options: ApnsOptions) {
  const { url, team_id, bundle_id, key_id, ca, direct, clock } = options;
  const key = parseKey(options.key);
  const provider = createProviderToken({ team_id, key_id, key, clock });
  const client = new ApnsClient({
    team: team_id,
    keyId: key_id,
    signingKey: options.key,
    defaultTopic: bundle_id,
    host: new URL(url).host,
    keepAlive: false,
  });
  const requests = createTimedRequests(clock);
  let connection = 1;
  let answered_at = 0;

  const post = async (
    { path, headers, body }: { path: string; headers: Record<string, string>; body: string },
    apns_id: string,
    signal: AbortSignal,
  ) => {
    const response = await direct.send(url + path, {
      method: "POST",
      body,
      headers: { ...headers, "apns-id": apns_id },
      protocol: "http2",
      // Without a client key, the passphrase only selects a connection: a new value opens a new one.
      tls: { passphrase: String(connection), ...(ca !== undefined && { ca }) },
      signal,
    });
    answered_at = performance.now();
    const text = await readText(response, ANSWER_BYTES);
    return { response, text };
  };

  return {
    abort: requests.abort,

    /** Sends one request. Never throws. */
    async send(push: ApnsRequest): Promise<ApnsAnswer> {
      const { token, type, topic, priority, expiration, collapse_id, payload, apns_id } = push;
      const provider_token = provider.current();
      const notification = new Notification(token, {
        type: type as NonNullable<NotificationOptions["type"]>,
        topic: bundle_id + topic,
        priority,
        expiration,
        ...(collapse_id !== null && { collapseId: collapse_id }),
        aps: payload.aps,
        data: { relay: payload.relay },
      });
      const from = performance.now();
      const on_connection = connection;
      const { signal, isLate, end } = requests.begin();
      let retry_after: number | null = null;
      let is_page = false;
      // The client with a transport of its own: apns2 passes on neither `apns-id` nor response headers.
      const one = Object.assign(Object.create(client) as object, {
        _getSigningToken: () => provider_token,
        client: {
          async request(request: Parameters<typeof post>[0]) {
            const { response, text } = await post(request, apns_id, signal);
            retry_after = seconds(response.headers.get("retry-after"));
            is_page =
              !response.headers.has("apns-id") &&
              isCalledHtml(response.headers.get("content-type"));
            return { statusCode: response.status, body: { json: async () => JSON.parse(text) } };
          },
        },
      }) as unknown as Pick<ApnsClient, "send">;
      try {
        await one.send(notification);
        // A page in front of the service answered, such as a login.
        if (is_page) return { kind: "lost", code: "unexpected_answer", fate: "refused" };
        return { kind: "ok" };
      } catch (error) {
        if (!(error instanceof ApnsError)) {
          // A connection that has answered nothing since this request began is dead: open another one.
          if (isLate() && answered_at < from && on_connection === connection) connection++;
          const code = isLate() ? "time-out" : codeOf(error);
          const fate = UNCONNECTED.test(code)
            ? "unconnected"
            : REFUSED.test(code)
              ? "refused"
              : "unclear";
          return { kind: "lost", code, fate };
        }
        const { statusCode: status, response } = error;
        const told = response as { reason?: unknown; timestamp?: unknown };
        const reason = typeof told.reason === "string" ? told.reason.slice(0, 60) : "UnknownError";
        const { timestamp } = told;
        // Renewed here, so that all requests refused with the same token get the same new one.
        const renewed =
          status === 403 && reason === EXPIRED_PROVIDER_TOKEN && provider.renew(provider_token);
        return {
          kind: "error",
          status,
          reason,
          timestamp: typeof timestamp === "number" ? timestamp / 1000 : null,
          retry_after,
          renewed,
          renewable_in: provider.renewableIn(),
        };
      } finally {
        end();
      }
    },
  };
}

/** Seconds of a `Retry-After` header. Dates are not parsed, since Apple sends none. */
function seconds(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;
}

function parseKey(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("not a P-256 key");
  return key;
}

interface ProviderTokenOptions extends Pick<ApnsOptions, "team_id" | "key_id" | "clock"> {
  readonly key: KeyObject;
}

/** Seconds by which the machine's clock may change before a token's issue time counts as wrong. */
const CLOCK_SET = 60;
/** Seconds after which a provider token is renewed, and between two that the service asks for. */
const TOKEN_AGE = 2_700;
const TOKEN_GAP = 1_200;

/** Keeps the one provider token of an environment. Signing is synchronous, so no two are made at once. */
function createProviderToken({ team_id, key_id, key, clock }: ProviderTokenOptions) {
  let token = "";
  /** When the token was made, and when the service last asked for a new one, by {@link Clock.elapsed}. */
  let made_at = Number.NEGATIVE_INFINITY;
  let forced_at = Number.NEGATIVE_INFINITY;
  /** The token's own issue time (`iat`), epoch seconds. */
  let issued_at = 0;

  const make = () => {
    made_at = clock.elapsed();
    issued_at = clock.wall();
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${encode({ alg: "ES256", kid: key_id })}.${encode({ iss: team_id, iat: Math.floor(issued_at) })}`;
    const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
    token = `${signed}.${signature.toString("base64url")}`;
  };

  return {
    current(): string {
      const age = clock.elapsed() - made_at;
      const was_set = Math.abs(clock.wall() - issued_at - age) > CLOCK_SET;
      if (age >= TOKEN_AGE || was_set) make();
      return token;
    },
    /**
     * Replaces `expired`, a token that was refused as expired. True if there is a newer token now, made
     * by this call or an earlier one. Makes at most one in 20 minutes.
     */
    renew(expired: string): boolean {
      if (token !== expired) return true;
      if (clock.elapsed() - forced_at < TOKEN_GAP) return false;
      forced_at = clock.elapsed();
      make();
      return true;
    },
    /** Seconds until {@link renew} may make a token again. */
    renewableIn: (): number => forced_at + TOKEN_GAP - clock.elapsed(),
  };
}
