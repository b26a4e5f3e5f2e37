/**
 * A webhook receiver: real sockets on every address of 127.0.0.0/8, each of which is a separate host. Checks
 * what it gets.
 */

import { afterAll } from "bun:test";
import { Webhook } from "standardwebhooks";

export interface Got {
  readonly path: string;
  readonly host: string;
  readonly id: string;
  readonly type: string;
  /** The event's type. */
  readonly at: string;
  readonly data: any;
  /** The attempt's time, in seconds. */
  readonly timestamp: number;
  readonly status: number;
}

interface Signed {
  readonly path: string;
  readonly id: string;
  readonly at: Date;
  readonly body: string;
  readonly signature: string | null;
}

type Behaviour = (got: Omit<Got, "status">) => number | Response | Promise<number | Response>;

export function startReceiver() {
  const got: Got[] = [];
  const faults: string[] = [];
  /** By path. */
  const secrets = new Map<string, string>();
  /** Requests that the secret of their path, as the receiver knew it at the time, had not signed. */
  const unverified: Signed[] = [];
  const isSigned = ({ path, id, at, body, signature }: Signed) => {
    const secret = secrets.get(path);
    // `verify` itself requires a time within five minutes of the real one.
    return !secret || new Webhook(secret).sign(id, at, body) === signature;
  };
  let behave: Behaviour = () => 200;
  let open = 0;
  const open_by_host = new Map<string, number>();
  let most_by_host = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "0.0.0.0",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname: path, hostname: host } = new URL(request.url);
      const body = await request.text();
      const headers = request.headers;
      const [id, timestamp] = [headers.get("webhook-id")!, headers.get("webhook-timestamp")!];
      const at = new Date(Number(timestamp) * 1000);
      const signed = { path, id, at, body, signature: headers.get("webhook-signature") };
      if (!isSigned(signed)) unverified.push(signed);
      if (headers.get("content-type") !== "application/json") faults.push("media type");
      const { type, timestamp: of_event, data } = JSON.parse(body);
      const seen = { path, host, id, type, at: of_event, data, timestamp: Number(timestamp) };
      const now_open = (open_by_host.get(host) ?? 0) + 1;
      open_by_host.set(host, now_open);
      most_by_host = Math.max(most_by_host, now_open);
      open++;
      try {
        const answer = await behave(seen);
        const response =
          typeof answer === "number"
            ? new Response(null, { status: answer, headers: { connection: "close" } })
            : answer;
        got.push({ ...seen, status: response.status });
        return response;
      } finally {
        open--;
        open_by_host.set(host, open_by_host.get(host)! - 1);
      }
    },
  });
  afterAll(() => server.stop(true));
  return {
    got,
    /** What was wrong with the requests so far. */
    get faults() {
      // A first request may come before the response that tells the test the new secret of its path.
      const forged = unverified.filter((one) => !isSigned(one));
      return [...faults, ...forged.map(({ body }) => `signature of ${body}`)];
    },
    port: server.port!,
    url: (path: string, host = "127.0.0.1") => `http://${host}:${server.port}${path}`,
    /** The secret that signs requests to the path from now on. */
    expect: (path: string, secret: string) => secrets.set(path, secret),
    behave(next: Behaviour) {
      behave = next;
    },
    /** Requests without a response so far, and the most that one host ever had. */
    open: () => open,
    mostOfHost: () => most_by_host,
    /** Successful requests since the last call, as `path type`, in order. */
    take: (): Got[] => got.splice(0),
  };
}

/** Responses that the test releases. */
export function gate() {
  const opened = Promise.withResolvers<void>();
  return { opened: opened.promise, open: opened.resolve };
}
