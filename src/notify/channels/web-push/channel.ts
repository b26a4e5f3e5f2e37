/** Web Push as a channel: reaches browsers even while the page is closed (§19.6). */

import type { Config } from "../../../config.ts";
import type { Channel, TargetInput } from "../../channel.ts";
import { classify, type WebPushAnswer } from "./classify.ts";
import { render, type WebPushRequest } from "./payload.ts";
import { settingsOf } from "./settings.ts";
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
