/**
 * This browser's channel for notifications. state/push.ts, which handles it, is loaded on demand.
 */

import { createListeners } from "../observable.ts";
import type { Channel } from "./api.ts";
import { local } from "./storage.ts";

/** In local storage: the channel, while this browser has one. */
const PUSH_CHANNEL = "push-channel";

/** This browser's channel, as kept in local storage. */
interface PushChannel {
  readonly id: string;
  /** Endpoint of the subscription that the server has. */
  readonly endpoint: string;
  /** As last known: used to make the channel again if it was deleted with a replaced token. */
  readonly settings: PushSettings;
}

export type PushSettings = Partial<
  Pick<Channel, "label" | "sends" | "min_priority" | "quiet_hours">
>;

const changes = createListeners();

/** This browser's channel; null if it has none. */
export function pushChannel(): PushChannel | null {
  return JSON.parse(local.get(PUSH_CHANNEL) ?? "null");
}

export const pushChannelId = (): string | null => pushChannel()?.id ?? null;

/** Saves this browser's channel, or that it has none, and tells the listeners. */
export function keepPushChannel(channel: PushChannel | null): void {
  if (channel) local.set(PUSH_CHANNEL, JSON.stringify(channel));
  else local.remove(PUSH_CHANNEL);
  changes.tell();
}

/** Calls a listener when this page changes the channel. */
export const onPushChannel = changes.subscribe;
