/** The channel by which this browser gets pushes. */

/** In local storage: the channel, while this browser has one. */
export const PUSH_CHANNEL = "relay.push-channel";
