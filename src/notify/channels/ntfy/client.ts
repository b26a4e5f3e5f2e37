/**
 * Publishes to ntfy servers that accounts name: through the outbound guard, a few at a time per
 * host.
 */

import type { Clock } from "../../../clock.ts";
import { NTFY } from "../../../notification-limits.ts";
import { OutboundError } from "../../../outbound/guard.ts";
import { VERSION } from "../../../version.ts";
import type { Network, RequestOrigin } from "../../channel.ts";
import { createHostFaults } from "../../host-faults.ts";
import { waitForHost } from "../../host-wait.ts";
import { createTimedRequests } from "../../requests.ts";
import { retryAfter } from "../../retry-after.ts";
import { isWebPage } from "../../web-page.ts";
import { FINAL, type NtfyAnswer } from "./classify.ts";
import type { NtfyRequest } from "./payload.ts";

interface NtfyOptions extends Network {
  readonly clock: Clock;
}

/**
 * The client of all ntfy servers. `send` answers `busy` where a server has no free connection, or
 * has not answered lately.
 */
export function createNtfyClient({ clock, outbound, slots }: NtfyOptions) {
  const requests = createTimedRequests(clock);
  const faults = createHostFaults(clock);

  /** One request over a connection that the caller has reserved; never throws. */
  const publish = async (request: NtfyRequest, owner: string): Promise<NtfyAnswer> => {
    const { signal, isLate, end } = requests.begin();
    try {
      const { status, headers, body } = await outbound.request({
        url: `${request.server}/`,
        owner,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": `Relay/${VERSION}`,
          ...(request.token !== null && { authorization: `Bearer ${request.token}` }),
        },
        body: JSON.stringify(request.publish),
        signal,
      });
      const published = publishedIn(body);
      return {
        kind: "answer",
        status,
        said: published ? "published" : isWebPage(headers, body) ? "web page" : "something else",
        retry_after: retryAfter(headers["retry-after"], clock.now()),
        replaces: published?.sequence_id === request.publish.sequence_id,
      };
    } catch (error) {
      const fault = error instanceof OutboundError ? error.fault : "failed";
      return { kind: "lost", fault: isLate() ? "timed_out" : fault };
    } finally {
      end();
    }
  };

  return {
    own_sockets: NTFY.in_flight,
    account_share: NTFY.account_share,

    abort: requests.abort,

    /** One request; never throws. */
    async send(request: NtfyRequest, origin: RequestOrigin): Promise<NtfyAnswer> {
      const host = URL.parse(request.server)?.host ?? "";
      if (host === "") return { kind: "lost", fault: "invalid_url" };
      const release = await waitForHost({ slots, clock, host, origin });
      if (!release) return { kind: "busy", wait: 1 };
      const wait = origin.is_test ? 0 : faults.wait(host, origin.owner);
      if (wait > 0) {
        release();
        return { kind: "busy", wait };
      }
      const answer = await publish(request, origin.owner).finally(release);
      const lost = answer.kind === "lost" && !FINAL.includes(answer.fault);
      if (!lost) faults.answered(host, origin.owner);
      // How often a person tests a channel says nothing about its host.
      else if (!origin.is_test) faults.failed(host, origin.owner);
      return answer;
    },
  };
}

/** The message that a server says it has published (https://docs.ntfy.sh/subscribe/api/); null for anything else. */
function publishedIn(body: Buffer): { readonly sequence_id?: unknown } | null {
  try {
    const said = JSON.parse(body.toString()) as Readonly<Record<string, unknown>> | null;
    const { id, event } = said ?? {};
    return typeof id === "string" && id !== "" && event === "message" ? said : null;
  } catch {
    return null;
  }
}
