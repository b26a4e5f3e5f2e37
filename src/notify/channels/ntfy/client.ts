/** Publishes to ntfy servers, which accounts name: through the guard, few at a time for each host. */

import type { Cancel, Clock } from "../../../clock.ts";
import { NTFY, PUSH } from "../../../limits.ts";
import { OutboundError } from "../../../outbound/guard.ts";
import { VERSION } from "../../../version.ts";
import { grown, type Network } from "../../channel.ts";
import { FINAL, type NtfyAnswer } from "./classify.ts";
import type { NtfyRequest } from "./payload.ts";

interface NtfyOptions extends Network {
  readonly clock: Clock;
}

/** A host that did not answer of late: one request at a time tries it. */
interface Fault {
  readonly times: number;
  /** By {@link Clock.elapsed}. */
  readonly until: number;
  readonly probing: boolean;
}

export function createNtfyClient({ clock, outbound, slots }: NtfyOptions) {
  const under_way = new Set<AbortController>();
  const faults = new Map<string, Fault>();

  const note = (host: string, fault: Fault) => {
    faults.delete(host);
    if (faults.size >= NTFY.remembered_hosts) faults.delete(faults.keys().next().value!);
    faults.set(host, fault);
  };

  const publish = async (request: NtfyRequest): Promise<NtfyAnswer> => {
    const controller = new AbortController();
    under_way.add(controller);
    let late = false;
    const cancel: Cancel = clock.after(PUSH.time_limit, () => {
      late = true;
      controller.abort();
    });
    try {
      const { status, headers, body } = await outbound.request({
        url: `${request.server}/`,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": `Relay/${VERSION}`,
          ...(request.token !== null && { authorization: `Bearer ${request.token}` }),
        },
        body: JSON.stringify(request.publish),
        signal: controller.signal,
      });
      const given = sequenceIn(body);
      return {
        kind: "answer",
        status,
        retry_after: seconds(headers["retry-after"]),
        replaces: given === request.publish.sequence_id,
      };
    } catch (error) {
      const fault = error instanceof OutboundError ? error.fault : "failed";
      return { kind: "lost", fault: late ? "timed_out" : fault };
    } finally {
      under_way.delete(controller);
      cancel();
    }
  };

  return {
    in_flight: NTFY.in_flight,

    /** Gives up what is under way. */
    abort(): void {
      for (const controller of under_way) controller.abort();
    },

    /** One request; never throws. */
    async send(request: NtfyRequest): Promise<NtfyAnswer> {
      const host = URL.canParse(request.server) ? new URL(request.server).hostname : "";
      if (host === "") return { kind: "lost", fault: "invalid_url" };
      const fault = faults.get(host);
      const now = clock.elapsed();
      if (fault && (fault.probing || now < fault.until)) {
        return { kind: "busy", wait: Math.max(1, fault.until - now) };
      }
      const release = slots.take(host);
      if (!release) return { kind: "busy", wait: 1 };
      if (fault) note(host, { ...fault, probing: true });
      const answer = await publish(request).finally(release);
      if (answer.kind === "lost" && !FINAL.includes(answer.fault)) {
        const times = (faults.get(host)?.times ?? 0) + 1;
        const until = clock.elapsed() + grown(PUSH.lost_backoff, times, PUSH.lost_backoff_most);
        note(host, { times, until, probing: false });
      } else {
        faults.delete(host);
      }
      return answer;
    },
  };
}

/** The `sequence_id` of an answer; null for anything else. */
function sequenceIn(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString()) as { sequence_id?: unknown } | null)?.sequence_id ?? null;
  } catch {
    return null;
  }
}

function seconds(header: unknown): number | null {
  return typeof header === "string" && /^\d{1,6}$/.test(header) ? Number(header) : null;
}
