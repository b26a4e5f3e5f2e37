/** ntfy as a channel: topics on servers that accounts name (§19.5). */

import type { Channel, TargetInput } from "../../channel.ts";
import { classify, type NtfyAnswer } from "./classify.ts";
import { createNtfyClient } from "./client.ts";
import { type NtfyAddress, type NtfyRequest, render } from "./payload.ts";

const LANE = "ntfy";

export const ntfy: Channel<NtfyRequest, NtfyAnswer> = {
  name: "ntfy",
  lanes: [LANE],
  supports: (kind) => kind === "question" || kind === "task",
  replaces: "if_known",
  register,
  render,
  classify,
  async connect(_config, clock, network) {
    return [{ lane: LANE, ...createNtfyClient({ clock, ...network }) }];
  },
};

/** A valid name of a topic. */
const TOPIC = /^\/([-_A-Za-z0-9]{1,64})$/;

function register({ url, token, buttons }: TargetInput) {
  if (url === null) return { fields: { url: "is required" } };
  const { origin, pathname, search } = new URL(url);
  const topic = TOPIC.exec(pathname)?.[1];
  if (topic === undefined || search !== "") {
    return { fields: { url: "must be https://<server>/<topic>" } };
  }
  const address: NtfyAddress = {
    server: origin,
    topic,
    token,
    // Anyone who reads a topic without a token can use its buttons.
    buttons: buttons ?? token !== null,
  };
  return { address: JSON.stringify(address), url, exclusive: false };
}
