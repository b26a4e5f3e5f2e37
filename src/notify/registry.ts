/** All channels. Lane names are unique, so that a lane identifies its channel. */

import { apns } from "./apns/channel.ts";
import type { Channel } from "./core/channel.ts";
import { ntfy } from "./ntfy/channel.ts";
import { telegram } from "./telegram/channel.ts";
import { webPush } from "./web-push/channel.ts";

export const CHANNELS: readonly Channel[] = [apns, ntfy, webPush, telegram];
