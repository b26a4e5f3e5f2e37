/** Checks that need no credential: address, certificate, version, clock. */

import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import { connect } from "node:tls";
import type { Health } from "../../client/client.ts";
import { VERSION } from "../../version.ts";
import { fetchServer } from "../base.ts";
import type { Io } from "../io.ts";
import type { Session } from "../session.ts";
import { check, type Finding, fail, ok, warn } from "./finding.ts";

/** Time limits in seconds. */
const [RESOLVE_WITHIN, TLS_WITHIN, ANSWER_WITHIN] = [5, 10, 10];
/** A certificate should be renewed this many days before it ends. */
const DAYS_LEFT = 14;
/** Seconds by which the clocks may differ. */
const CLOCK = 5;

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

/** Checks that the host name of the server resolves. */
export const checkAddress = (io: Io, { hostname }: URL): Promise<Finding> =>
  check(
    io,
    "address",
    RESOLVE_WITHIN,
    "Check the address, and the network of this machine",
    async () => {
      const host = bare(hostname);
      if (isIP(host) !== 0) return ok(`${host} is an IP address`);
      const addresses = await lookup(host, { all: true });
      return ok(`${host} is ${addresses.map(({ address }) => address).join(", ")}`);
    },
  );

/** Checks that the certificate is trusted here and does not end soon. */
export const checkCertificate = (io: Io, { hostname, port }: URL): Promise<Finding> =>
  check(
    io,
    "certificate",
    TLS_WITHIN,
    "Check that the server speaks https at this address",
    async (signal) => {
      const host = bare(hostname);
      const socket = connect({
        host,
        port: Number(port || 443),
        ...(isIP(host) === 0 && { servername: host }),
        rejectUnauthorized: false,
      });
      signal.addEventListener("abort", () => socket.destroy());
      await once(socket, "secureConnect");
      const ends = Date.parse(socket.getPeerCertificate().valid_to);
      const days = Math.floor((ends / 1000 - io.now()) / 86_400);
      const renew = "Renew the certificate, and start the server again";
      if (Number.isNaN(days)) throw new Error("the server sent no certificate");
      if (days < 0) return fail(`it expired ${-days} days ago`, renew);
      if (!socket.authorized) {
        const { authorizationError: why } = socket;
        const reason = why instanceof Error ? why.message : String(why ?? "");
        const advice = "Use a certificate that this machine trusts";
        return fail(`it is not trusted here: ${reason}`, advice);
      }
      return days < DAYS_LEFT ? warn(`it expires in ${days} days`, renew) : ok(`${days} days left`);
    },
  );

/** Checks the server by `GET /health` (§5.12.1), and the clock by the `Date` of the response. */
export async function checkServer(io: Io, { connection }: Session): Promise<Finding[]> {
  let clock: Finding | null = null;
  const advice = "Check that the server runs, and that nothing in between blocks it";
  const server = await check(io, "server", ANSWER_WITHIN, advice, async (signal) => {
    const sent = io.now();
    const response = await fetchServer(connection.url("/health"), {
      signal,
      redirect: "manual",
    });
    clock = clockOf(response.headers.get("date"), sent, io.now());
    const health = (await response.json().catch(() => null)) as Partial<Health> | null;
    if (typeof health?.version !== "string" || typeof health.status !== "string") {
      return fail(
        `something other than Relay answers, with ${response.status}`,
        "Check the address",
      );
    }
    const text = `version ${health.version}, store ${health.store}`;
    if (health.status !== "ok") {
      return fail(`${health.status}, ${text}`, "Look at the log of the server");
    }
    if (health.problems?.length) {
      return warn(
        `${text}, problems: ${health.problems.join(", ")}`,
        "Look at the log of the server",
      );
    }
    return health.version === VERSION
      ? ok(text)
      : warn(`${text}, and this command line ${VERSION}`, "Update the older of the two");
  });
  return clock ? [server, clock] : [server];
}

/**
 * Compares the server's clock with this one; null without a `Date`. `Date` has whole seconds and was set between
 * request and response: a difference within that range counts as none.
 */
function clockOf(date: string | null, sent: number, received: number): Finding | null {
  const stamp = date === null ? Number.NaN : Date.parse(date) / 1000;
  if (Number.isNaN(stamp)) return null;
  const [least, most] = [stamp - received, stamp + 1 - sent];
  const off = least > 0 ? least : Math.min(most, 0);
  const result =
    Math.abs(off) <= CLOCK
      ? ok(off === 0 ? "no difference" : `${Math.abs(off).toFixed(1)} s apart`)
      : warn(
          `the server's is ${Math.round(Math.abs(off))} s ${off > 0 ? "ahead" : "behind"}`,
          "Set the clocks of both machines by NTP",
        );
  return { hop: "clock", ms: null, ...result };
}
