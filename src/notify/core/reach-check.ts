/** Says why the service or the receiver of a channel could not be reached from here (§19.2.11). */

import { type Outbound, OutboundError, type OutboundFault } from "../../outbound/guard.ts";
import { isRefused } from "../webhooks/url-check.ts";

/** Seconds for the answer of a service. */
const WITHIN = 5;

/** What is said of each fault; one without words says nothing about the next request. */
const WORDS: Partial<Record<OutboundFault, (host: string) => string>> = {
  invalid_url: () =>
    "This server calls public addresses over https only, and no URL with a user name, a password or a fragment.",
  forbidden_address: (host) =>
    `${host} is a private address, which this server may not call. Its operator can permit a private network with OUTBOUND_PRIVATE.`,
  unknown_host: (host) => `This server finds no address for the name ${host}.`,
  unreachable: (host) => `This server cannot connect to ${host}.`,
  tls_failed: (host) => `The certificate of ${host} is not valid.`,
  timed_out: (host) => `This server got no answer from ${host} in time.`,
};

interface Target {
  /** What the channel would send to, or a page of its service. */
  readonly url: string;
  /** See `Channel.pageOf`; null: only the host of `url` is looked up. */
  readonly page: string | null;
  /** Id of the account. */
  readonly owner: string;
}

export type ReachCheck = ReturnType<typeof createReachCheck>;

/** Returns a function that says what is wrong, within 15 seconds; null if nothing was found. */
export function createReachCheck(outbound: Pick<Outbound, "check" | "request">) {
  return async ({ url, page, owner }: Target) => {
    const refusal = await faultOf(outbound.check(url, owner));
    const asked = { url: page ?? "", owner, method: "GET", seconds: WITHIN } as const;
    const fault = refusal ?? (page === null ? null : await faultOf(outbound.request(asked)));
    const detail = fault === null ? undefined : WORDS[fault]?.(new URL(url).host);
    if (fault === null || detail === undefined) return null;
    return { code: fault, refused: refusal !== null && isRefused(refusal), detail };
  };
}

/** The fault of a request or check; null if it succeeded. Throws what is not a fault of the connection. */
async function faultOf(work: Promise<unknown>): Promise<OutboundFault | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof OutboundError) return error.fault;
    throw error;
  }
}
