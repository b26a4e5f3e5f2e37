/** Encrypts messages and sends them to the push services of browsers (RFC 8030, 8291, 8292). */

import { isIP } from "node:net";
import webPush from "web-push";
import type { Clock } from "../../clock.ts";
import type { DirectFetch, DirectInit } from "../../outbound/direct-fetch.ts";
import { withoutNoProxy } from "../../outbound/no-proxy.ts";
import type { RequestOrigin, Shared } from "../core/channel.ts";
import { createHostFaults } from "../core/host-faults.ts";
import { codeOf, createTimedRequests, retryAfter, UNCONNECTED } from "../core/requests.ts";
import { isCalledHtml } from "../core/web-page.ts";
import type { WebPushAnswer } from "./classify.ts";
import { fit, type WebPushRequest } from "./payload.ts";

/** Requests under way at once, per process. */
export const IN_FLIGHT = 64;
/** Bytes that a message is shortened to if the push service says that it is too large. */
export const SHORT_BYTES = 1_500;
/** The longest `TTL` of a message, in seconds. */
const TTL_MOST = 2_419_200;
/** Bytes of an answer that are read. */
const ANSWER_BYTES = 65_536;

/** Seconds after which a signed token is renewed. It is valid for 12 hours (RFC 8292). */
export const TOKEN_AGE = 21_600;
/** Origins of push services whose tokens are kept. */
const KEPT_TOKENS = 1_000;

interface WebPushOptions {
  readonly subject: string;
  /** Hosts that the operator names. They are reached without the proxy. */
  readonly hosts: readonly string[];
  /** `OUTBOUND_PROXY`. */
  readonly proxy: string | undefined;
  readonly direct: DirectFetch;
  readonly clock: Clock;
}

/** Characters of a topic; RFC 8030 permits 32. */
const TOPIC = 24;

/** The client of all push services of browsers. `prepare` is called before `send`. */
export function createWebPushClient({ subject, hosts, proxy, direct, clock }: WebPushOptions) {
  const requests = createTimedRequests(clock);
  const faults = createHostFaults(clock);
  let key = "";
  let authorize: (origin: string) => string;
  let topicOf: (subject: string) => string;

  const post = async (
    { subscription, urgency, subject, keep_until, message }: WebPushRequest,
    signal: AbortSignal,
  ) => {
    const { endpoint, ...keys } = subscription;
    const { origin, host, hostname } = new URL(endpoint);
    const named = hosts.includes(host) || hosts.includes(hostname);
    const life = keep_until === null ? 0 : Math.ceil(keep_until - clock.now());
    const details = webPush.generateRequestDetails({ endpoint, keys }, JSON.stringify(message), {
      TTL: Math.min(TTL_MOST, Math.max(0, life)),
      urgency,
      topic: topicOf(subject),
      headers: { Authorization: authorize(origin) },
    });
    const { "Content-Length": _, ...headers } = details.headers;
    const via = named || proxy === undefined ? undefined : await atAddress(proxy);
    const init: DirectInit = {
      method: "POST",
      headers: headers as Record<string, string>,
      body: details.body as Uint8Array<ArrayBuffer>,
      redirect: "manual",
      signal,
    };
    const response = await (via === undefined
      ? direct.send(endpoint, init)
      : withoutNoProxy(() => fetch(endpoint, { ...init, proxy: via } as unknown as RequestInit)));
    await drain(response);
    return response;
  };

  /** The URL of the proxy with an address that Relay looked up in place of its name, which TLS would need. */
  const atAddress = async (url: string): Promise<string> => {
    const at = new URL(url);
    if (at.protocol === "https:") return url;
    const [address = at.hostname] = await direct.addressesOf(at.hostname.replace(/^\[|\]$/g, ""));
    at.hostname = isIP(address) === 6 ? `[${address}]` : address;
    return at.href;
  };

  const exchange = async (request: WebPushRequest, signal: AbortSignal): Promise<Response> => {
    const response = await post(request, signal);
    if (response.status !== 413) return response;
    const message = fit(request.message, SHORT_BYTES, request.uncut);
    return message === null ? response : post({ ...request, message }, signal);
  };

  return {
    in_flight: IN_FLIGHT,

    async prepare(shared: Shared): Promise<void> {
      const keys = await sharedVapidKeys(shared);
      key = keys.publicKey;
      authorize = createVapidHeaders(keys, { subject, clock });
      topicOf = (about) => shared.signer.sign("push topic", about).slice(0, TOPIC);
    },

    clientKey: (): string => key,

    abort: requests.abort,

    /** Sends one message, and again with less text if the service finds it too large. Never throws. */
    async send(request: WebPushRequest, { owner, is_test }: RequestOrigin): Promise<WebPushAnswer> {
      const host = URL.parse(request.subscription.endpoint)?.host ?? "";
      if (host === "") return { kind: "lost", code: "invalid_url", final: true, unclear: false };
      const wait = is_test ? 0 : faults.wait(host, owner);
      if (wait > 0) return { kind: "busy", wait };
      const { signal, isLate, end } = requests.begin();
      try {
        const { status, headers } = await exchange(request, signal);
        faults.answered(host, owner);
        const retry_after = retryAfter(headers.get("retry-after"), clock.wall());
        const is_page =
          status !== 201 && !headers.has("location") && isCalledHtml(headers.get("content-type"));
        return { kind: "answer", status, is_page, retry_after };
      } catch (error) {
        // How often a person tests a channel says nothing about its host.
        if (!is_test) faults.failed(host, owner);
        const code = codeOf(error);
        if (UNCONNECTED.test(code)) return { ...LOST, code: "unreachable", unclear: false };
        return { ...LOST, code: isLate() ? "timed_out" : "failed", unclear: true };
      } finally {
        end();
      }
    },
  };
}

const LOST = { kind: "lost", final: false } as const;

/** Reads the body, so that the connection can be reused. A body that is too large closes it. */
async function drain({ body }: Response): Promise<void> {
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES) return;
  }
}

interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** The key pair that all processes on a store share. The first one makes it. */
async function sharedVapidKeys({ secretOf }: Pick<Shared, "secretOf">): Promise<VapidKeys> {
  return JSON.parse(await secretOf("vapid", JSON.stringify(webPush.generateVAPIDKeys())));
}

/** Seconds by which the machine's clock may change before a token's own times count as wrong. */
const CLOCK_SET = 60;

interface SignedHeader {
  readonly header: string;
  /** When it was signed, by {@link Clock.elapsed} and {@link Clock.wall}. */
  readonly made_at: number;
  readonly issued_at: number;
}

/**
 * Returns a function from a push service's origin to its `Authorization` header. Headers are cached for
 * some hours, since signing takes longest.
 */
function createVapidHeaders(
  keys: VapidKeys,
  { subject, clock }: Pick<WebPushOptions, "subject" | "clock">,
) {
  const kept = new Map<string, SignedHeader>();

  return (origin: string): string => {
    const now = clock.elapsed();
    const known = kept.get(origin);
    const age = known ? now - known.made_at : 0;
    const was_set = known && Math.abs(clock.wall() - known.issued_at - age) > CLOCK_SET;
    if (known && age < TOKEN_AGE && !was_set) return known.header;
    const { publicKey, privateKey } = keys;
    // It is valid for 12 hours, the library's default.
    const headers = webPush.getVapidHeaders(origin, subject, publicKey, privateKey, "aes128gcm");
    kept.delete(origin);
    if (kept.size >= KEPT_TOKENS) kept.delete(kept.keys().next().value!);
    const header = headers.Authorization;
    kept.set(origin, { header, made_at: now, issued_at: clock.wall() });
    return header;
  };
}
