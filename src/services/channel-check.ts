/** Says why a channel would not work on this server, before it is created (§19.2.11). */

import type { Config } from "../config.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { ChannelCheckInput, ChannelProblem } from "../model/channel.ts";
import type { Channel as LaneChannel } from "../notify/core/channel.ts";
import type { ReachCheck } from "../notify/core/reach-check.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import type { AdmitAddressUse } from "./shared/use-limits.ts";

interface ChannelCheckDeps extends Pick<ServiceDeps, "assertLive" | "assertPastTrial"> {
  readonly config: Config;
  readonly channels: readonly LaneChannel[];
  readonly checkReach: ReachCheck;
  readonly admitAddressUse: AdmitAddressUse;
}

/** True if the URL is below a base address of this server. */
function isBelow(url: URL, base: string | null | undefined): boolean {
  const own = base == null ? null : URL.parse(base);
  if (own?.host !== url.host) return false;
  return `${url.pathname}/`.startsWith(own.pathname.replace(/\/*$/, "/"));
}

export function createChannelCheck(deps: ChannelCheckDeps) {
  const { config, channels, checkReach, admitAddressUse, assertLive, assertPastTrial } = deps;

  /**
   * Returns why a channel of this type could not work here; null if nothing is known. Creates and sends nothing: of the
   * URL only the host is looked up, and a service is asked for a page without an effect. `own`: the base address by
   * which the request came. `403 forbidden` in the caller's trial, `429 rate_limited` (§10.6.8).
   */
  return async (
    caller: AccountCaller,
    { type, url: given }: ChannelCheckInput,
    own: string | null,
  ): Promise<ChannelProblem | null> => {
    await assertPastTrial(caller);
    const channel = channels.find(({ name }) => name === type);
    const off = channel?.whyOff?.(config) ?? null;
    if (off !== null) {
      return { code: "off", refused: true, detail: `It is off on this server: ${off}.` };
    }
    const page = channel?.pageOf?.(given ?? null, config) ?? null;
    const url = given ?? page;
    // The endpoint of a browser is not known yet.
    if (url === null) return null;
    const { account_id } = caller;
    const target = new URL(url);
    if (!(await admitAddressUse({ account_id, host: target.host }))) await assertLive(caller);
    if (isBelow(target, own) || isBelow(target, config.PUBLIC_URL)) {
      return { code: "own_address", refused: false, detail: `${target.host} is Relay itself.` };
    }
    return checkReach({ url, page, owner: account_id });
  };
}
