/** Web Push as a channel: reaches browsers even while the page is closed (§19.6). */

import { isIP } from "node:net";
import type { Config } from "../../config.ts";
import { isLoopback } from "../../loopback.ts";
import type { Channel, TargetInput } from "../core/channel.ts";
import { classify, type WebPushAnswer } from "./classify.ts";
import { render, type WebPushRequest } from "./payload.ts";
import { endpointFault, isApple, keysFault, toAddress } from "./subscription.ts";

const LANE = "web_push";

export const webPush: Channel<WebPushRequest, WebPushAnswer> = {
  name: "web_push",
  title: "Web Push",
  lanes: [LANE],
  supports: (kind) => kind === "question" || kind === "task",
  replaces: "always",
  register,
  whyOff: (config) => settingsOf(config).off ?? null,
  render,
  classify,
  async connect(config, clock, { direct }) {
    const settings = settingsOf(config);
    if (settings.off !== undefined) return [];
    // Loaded only when it is on: loading its library takes 40 ms.
    const { createWebPushClient } = await import("./client.ts");
    const { subject, hosts } = settings;
    const options = { subject, hosts, proxy: config.OUTBOUND_PROXY, direct, clock };
    return [{ lane: LANE, ...createWebPushClient(options) }];
  },
};

function register({ subscription }: TargetInput, config: Config) {
  const settings = settingsOf(config);
  if (settings.off !== undefined) return { fields: { type: "is off on this server" } };
  if (subscription === null) return { fields: { subscription: "is required" } };
  const { endpoint, keys } = subscription;
  const fault =
    endpointFault(endpoint, settings.hosts) ?? subjectFault(endpoint, settings) ?? keysFault(keys);
  if (fault !== null) return { fields: { subscription: fault } };
  return { address: toAddress(subscription), url: subscription.endpoint, exclusive: true };
}

type Settings =
  | {
      /** How push services can contact the operator. */
      readonly subject: string;
      /** False: it names nobody, which Apple refuses. */
      readonly names_operator: boolean;
      /** `WEB_PUSH_HOSTS`. */
      readonly hosts: readonly string[];
      readonly off?: never;
    }
  /** Why it is off. */
  | { readonly off: string };

type Variables = Pick<
  Config,
  "HOST" | "PUBLIC_URL" | "TLS_CERT_FILE" | "VAPID_SUBJECT" | "WEB_PUSH_HOSTS"
>;

/** What push services are told where no public name is known. Google and Mozilla accept it. */
const NOBODY = "https://localhost";

/** The settings of Web Push, or the reason why the configuration turns it off. */
export function settingsOf(config: Variables): Settings {
  const { HOST, PUBLIC_URL, TLS_CERT_FILE, VAPID_SUBJECT, WEB_PUSH_HOSTS = [] } = config;
  const scheme = TLS_CERT_FILE === undefined ? "http" : "https";
  const host = HOST.includes(":") ? `[${HOST}]` : HOST;
  const page = URL.parse(PUBLIC_URL ?? `${scheme}://${host}`);
  // Browsers run service workers only at https or loopback addresses. A process that listens on all addresses has a
  // loopback address too.
  const secure = PUBLIC_URL !== undefined && page?.protocol === "https:";
  const local = page && (isLoopback(page.hostname) || (PUBLIC_URL === undefined && isAny(HOST)));
  if (!page || !(secure || local)) return { off: "PUBLIC_URL is neither https nor loopback" };
  const subject = VAPID_SUBJECT ?? (secure && namesOperator(page.origin) ? page.origin : NOBODY);
  return { subject, names_operator: namesOperator(subject), hosts: WEB_PUSH_HOSTS };
}

/** True for the address by which a process listens on all addresses. */
const isAny = (host: string): boolean => ["0.0.0.0", "::", "[::]"].includes(host);

/** Names that only a private network knows, or nobody (RFC 6761, 6762, 8375 and 9476). */
const PRIVATE = /(?:^|\.)(?:localhost|local|internal|home\.arpa|lan|test|invalid|alt|onion)\.?$/;

/** True if the host of a subject is under a public domain; false for an address and for names of private networks. */
function namesOperator(subject: string): boolean {
  const [, host = URL.parse(subject)?.hostname ?? ""] = /^mailto:.*@([^?]+)/.exec(subject) ?? [];
  return host.includes(".") && isIP(host) === 0 && !host.startsWith("[") && !PRIVATE.test(host);
}

/** Says what Apple's push service, which refuses subjects that name nobody, needs from the operator. */
function subjectFault(
  endpoint: string,
  { names_operator }: Pick<Settings & { readonly off?: never }, "names_operator">,
): string | null {
  if (names_operator || !isApple(endpoint)) return null;
  return "belongs to Apple's push service, which needs to know the operator: set VAPID_SUBJECT=mailto:you@your.domain on the server";
}
