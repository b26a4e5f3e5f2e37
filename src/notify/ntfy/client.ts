/** Publishes to ntfy servers that accounts name, through the outbound guard and a few at a time per host. */

import type { Clock } from "../../clock.ts";
import { hostOf } from "../../host-names.ts";
import { NOTIFICATION_LIMITS } from "../../notification-limits.ts";
import { OutboundError, type OutboundRequest } from "../../outbound/guard.ts";
import { VERSION } from "../../version.ts";
import type { Network, RequestOrigin } from "../core/channel.ts";
import { createHostFaults } from "../core/host-faults.ts";
import { createTimedRequests, retryAfter } from "../core/requests.ts";
import { isWebPage } from "../core/web-page.ts";
import { FINAL, type NtfyAnswer } from "./classify.ts";
import { type NtfyRequest, parse } from "./payload.ts";

/** Requests under way at once, per process. The waiting places of each host (host-slots.ts) are fewer. */
export const IN_FLIGHT = 64;
/** Requests that an account may have under way for each it leaves to others: it chooses its servers, and so how long they take. */
const ACCOUNT_SHARE = 1;
/** Seconds that a queued delivery waits for a connection. With its request, it ends before its lease. */
export const QUEUED_WAIT = 4;

/** The client of all ntfy servers. `send` answers `busy` if a host has no free connection or has not answered lately. */
export function createNtfyClient({ clock, outbound, slots }: Network & { readonly clock: Clock }) {
  const requests = createTimedRequests(clock);
  const faults = createHostFaults(clock);

  /** Waits for a connection, which the caller must release. Null if none was free in time. */
  const waitForHost = async (host: string, origin: RequestOrigin) => {
    const late = new AbortController();
    const seconds = origin.is_test ? NOTIFICATION_LIMITS.connection_wait : QUEUED_WAIT;
    const cancel = clock.after(seconds, () => late.abort());
    return slots.wait(host, { ...origin, until: late.signal }).finally(cancel);
  };

  /** Sends one request over a connection that the caller has reserved. Never throws. */
  const publish = async (request: NtfyRequest, owner: string): Promise<NtfyAnswer> => {
    const { signal, isLate, end } = requests.begin();
    const common = headersOf(request);
    try {
      if (request.again) {
        const { topic, sequence_id } = request.publish;
        const url = `${request.server}/${topic}/${sequence_id}`;
        // Servers before 2.16 refuse it. The publish decides how the attempt ends.
        await outbound
          .request({ url, owner, method: "DELETE", headers: common, signal })
          .catch(() => {});
      }
      const { status, headers, body } = await outbound.request({
        url: `${request.server}/`,
        owner,
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...common,
          ...(request.quiet && { firebase: "no" }),
        },
        body: JSON.stringify(request.publish),
        signal,
      });
      const published = publishedIn(body);
      return {
        kind: "answer",
        status,
        said: published ? "published" : isWebPage(headers, body) ? "web page" : "something else",
        retry_after: retryAfter(headers["retry-after"], clock.wall()),
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
    own_sockets: IN_FLIGHT,
    account_share: ACCOUNT_SHARE,

    abort: requests.abort,

    /**
     * Checks that anybody may write to the reply topic, as buttons carry no token, and that Relay may read it. The
     * message that this leaves there is no code.
     */
    async check(address: string, origin: RequestOrigin): Promise<string | null> {
      const { server, replies, token } = parse(address);
      const { owner } = origin;
      if (replies === undefined) return null;
      const release = await waitForHost(hostOf(server), origin);
      if (!release) return "busy";
      const { signal, isLate, end } = requests.begin();
      const ask = async (request: Pick<OutboundRequest, "method" | "url" | "body" | "headers">) =>
        (await outbound.request({ owner, signal, ...request })).status;
      try {
        const body = JSON.stringify({ topic: replies, message: "test" });
        const headers = { "content-type": "application/json", ...headersOf({ token: null }) };
        const written = await ask({ method: "POST", url: `${server}/`, body, headers });
        if (written === 401 || written === 403) return "replies_not_writable";
        const url = `${server}/${replies}/json?poll=1&since=none`;
        const read = await ask({ method: "GET", url, headers: headersOf({ token }) });
        if (read === 401 || read === 403) return "replies_not_readable";
        const wrong = [written, read].find((status) => status < 200 || status >= 300);
        return wrong === undefined ? null : `status_${wrong}`;
      } catch (error) {
        if (isLate()) return "timed_out";
        return error instanceof OutboundError ? error.fault : "failed";
      } finally {
        end();
        release();
      }
    },

    /** Sends one request. Never throws. */
    async send(request: NtfyRequest, origin: RequestOrigin): Promise<NtfyAnswer> {
      const host = hostOf(request.server);
      if (host === "") return { kind: "lost", fault: "invalid_url" };
      const release = await waitForHost(host, origin);
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

/** The headers of every request to an ntfy server. */
export const headersOf = ({ token }: { readonly token: string | null }) => ({
  "user-agent": `Relay/${VERSION}`,
  ...(token !== null && { authorization: `Bearer ${token}` }),
});

/** The message that a server says it published (https://docs.ntfy.sh/subscribe/api/); null for anything else. */
function publishedIn(body: Buffer): { readonly sequence_id?: unknown } | null {
  try {
    const said = JSON.parse(body.toString()) as Readonly<Record<string, unknown>> | null;
    const { id, event } = said ?? {};
    return typeof id === "string" && id !== "" && event === "message" ? said : null;
  } catch {
    return null;
  }
}
