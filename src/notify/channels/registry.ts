/** All channels. Their lanes have names of their own, so that a lane names its channel. */

import type { Channel } from "../channel.ts";
import { apns } from "./apns/channel.ts";

export const CHANNELS: readonly Channel[] = [
  // One line for each.
  apns,
];

/** Name of the channel that a lane belongs to; null for one of another version. */
export function channelOf(lane: string): string | null {
  return CHANNELS.find(({ lanes }) => lanes.includes(lane))?.name ?? null;
}
