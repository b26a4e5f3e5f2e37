/** Web Push as a channel: reaches browsers even while the page is closed (§19.6). */

import type { Config } from "../../../config.ts";
import { isLoopback } from "../../../loopback.ts";
import type { Channel, TargetInput } from "../../channel.ts";
import { classify, type WebPushAnswer } from "./classify.ts";
import { render, type WebPushRequest } from "./payload.ts";
import { endpointFault, keysFault, toAddress } from "./subscription.ts";

const LANE = "web_push";

export const webPush: Channel<WebPushRequest, WebPushAnswer> = {
  name: "web_push",
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
  const fault =
    endpointFault(subscription.endpoint, settings.hosts) ?? keysFault(subscription.keys);
  if (fault !== null) return { fields: { subscription: fault } };
  return { address: toAddress(subscription), url: subscription.endpoint, exclusive: true };
}

type Settings =
  | {
      /** How push services can contact the operator. */
      readonly subject: string;
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

/** The settings of Web Push, or the reason why the configuration turns it off. */
export function settingsOf(config: Variables): Settings {
  const { HOST, PUBLIC_URL, TLS_CERT_FILE, VAPID_SUBJECT, WEB_PUSH_HOSTS = [] } = config;
  const scheme = TLS_CERT_FILE === undefined ? "http" : "https";
  const host = HOST.includes(":") ? `[${HOST}]` : HOST;
  const page = URL.parse(PUBLIC_URL ?? `${scheme}://${host}`);
  // Browsers run service workers only at https or loopback addresses. Without `PUBLIC_URL`, only a
  // loopback address is certain.
  const secure = PUBLIC_URL !== undefined && page?.protocol === "https:";
  if (!page || !(secure || isLoopback(page.hostname))) {
    return { off: "PUBLIC_URL is neither https nor loopback" };
  }
  const subject = VAPID_SUBJECT ?? (secure ? page.origin : undefined);
  if (subject === undefined) return { off: "VAPID_SUBJECT is not set" };
  return { subject, hosts: WEB_PUSH_HOSTS };
}
