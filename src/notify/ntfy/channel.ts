/** ntfy as a channel: topics on servers that accounts name (§19.5), and replies through them (§19.8). */

import type { Config } from "../../config.ts";
import { hostOf } from "../../host-names.ts";
import type { Ids } from "../../ids.ts";
import { isLoopback } from "../../loopback.ts";
import type { Channel, NewTarget, TargetInput } from "../core/channel.ts";
import { classify, type NtfyAnswer } from "./classify.ts";
import { createNtfyClient } from "./client.ts";
import { hasTestButton, type NtfyAddress, type NtfyRequest, render } from "./payload.ts";
import { replies } from "./replies.ts";

const LANE = "ntfy";

export const ntfy: Channel<NtfyRequest, NtfyAnswer> = {
  name: "ntfy",
  title: "ntfy",
  lanes: [LANE],
  supports: (kind) => kind === "question" || kind === "task",
  replaces: "if_known",
  register,
  pageOf: (url, config) => `${new URL(url ?? config.NTFY_SERVER).origin}/v1/health`,
  render,
  hasTestButton,
  classify,
  replies,
  async connect(_config, clock, network) {
    return [{ lane: LANE, ...createNtfyClient({ clock, ...network }) }];
  },
};

/** A valid name of a topic. */
const TOPIC = /^\/([-_A-Za-z0-9]{1,64})$/;
/** Random bytes in the name of a topic that Relay makes. */
const NAME_BYTES = 16;
/** Its free plan has 250 messages a day. */
const LIMITED = "ntfy.sh";

function register(
  { url: given, token, buttons, replies }: TargetInput,
  config: Config,
  ids: Pick<Ids, "random">,
) {
  const { origin, pathname, search } = new URL(given ?? config.NTFY_SERVER);
  const name = () => Buffer.from(ids.random(NAME_BYTES)).toString("hex");
  const is_made = pathname === "/" && search === "";
  if (!is_made && replies === true) {
    // Who knows a topic that a person chose could answer.
    return { fields: { replies: "is for a topic that Relay makes: leave the topic out of url" } };
  }
  const topic = is_made ? `relay-${name()}` : TOPIC.exec(pathname)?.[1];
  if (topic === undefined || search !== "") {
    return { fields: { url: "must be https://<server> or https://<server>/<topic>" } };
  }
  const takes_replies = is_made && (replies ?? !isReachable(config));
  const address: NtfyAddress = {
    server: origin,
    topic,
    token,
    // Anyone who reads a topic without a token can use its buttons.
    buttons: !takes_replies && (buttons ?? token !== null),
    ...(takes_replies && { replies: `relay-reply-${name()}` }),
  };
  const made: NewTarget = {
    address: JSON.stringify(address),
    url: `${origin}/${topic}`,
    exclusive: false,
    is_made,
  };
  return takes_replies && hostOf(origin) === LIMITED
    ? { ...made, sends: ["questions" as const] }
    : made;
}

/** True if a phone may reach Relay by the address that buttons would name. */
const isReachable = ({ PUBLIC_URL }: Config): boolean =>
  PUBLIC_URL !== undefined && !isLoopback(new URL(PUBLIC_URL).hostname);
