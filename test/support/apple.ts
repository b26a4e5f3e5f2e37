/**
 * A stand-in for Apple's push service: HTTP/2 over TLS with its own CA. It checks what Apple
 * checks, and misbehaves as a test tells it to.
 */

import { afterAll } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { BUNDLE, type Received, readRequest, refusalOf, TEAM } from "./apple-checks.ts";
import { tempFolder } from "./temp.ts";
import { createAuthority, type Identity } from "./tls.ts";

/** How a request is treated; `undefined`: checked, accepted and answered with 200. */
export type Behaviour =
  | undefined
  | {
      readonly status: number;
      readonly reason: string;
      /** Seconds, as in Relay's clock. */
      readonly timestamp?: number;
      readonly retry_after?: number;
    }
  /** Never answered; with `accept` it still counts as delivered. */
  | { readonly hang: true; readonly accept?: boolean }
  /** Accepted or not, the stream is reset instead of answered. */
  | { readonly reset: true; readonly accept?: boolean }
  /** Accepted or not, the socket is destroyed instead of answered. */
  | { readonly drop: true; readonly accept?: boolean }
  /** Answered, then GOAWAY: open requests finish. */
  | { readonly goaway: "graceful" }
  /** A GOAWAY that names a stream before this one as the last, or an error; then the socket ends. */
  | { readonly goaway: "partial" | "error" };

interface Incoming {
  readonly stream: ServerHttp2Stream;
  readonly session: Http2Session;
  readonly id: number;
  readonly headers: IncomingHttpHeaders;
}

export interface AppleOptions {
  /** The service's time, in seconds. */
  readonly now?: () => number;
  /** Milliseconds until each answer. */
  readonly delay?: number;
  readonly max_streams?: number;
  /** A certificate of a CA other than the one in `ca`. */
  readonly untrusted?: boolean;
}

let authority: ReturnType<typeof createAuthority> | undefined;

/** Starts it on a free port. It stops with the file, or with the test that started it. */
export async function startApple(options: AppleOptions = {}) {
  const { max_streams = 1_000 } = options;
  let now = options.now ?? (() => Date.now() / 1000);
  authority ??= createAuthority();
  const { ca, issue } = await authority;
  const identity: Identity = options.untrusted
    ? await (await createAuthority()).issue()
    : await issue();
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key_id = `K${Buffer.from(crypto.getRandomValues(new Uint8Array(5)))
    .toString("hex")
    .toUpperCase()}`.slice(0, 10);

  const ca_file = join(tempFolder(), "ca.pem");
  await Bun.write(ca_file, ca);

  const received: Received[] = [];
  const delivered: Received[] = [];
  const faults: string[] = [];
  const sockets = new Set<Socket>();
  const sessions = new Set<Http2Session>();
  const numbers = new WeakMap<Http2Session, number>();
  const { delay = 0 } = options;
  /** Requests that wait for their release; null: requests are answered as they arrive. */
  let holding: (() => void)[] | null = null;
  let behave: (request: Received) => Behaviour = () => undefined;
  const swallowing = new Set<Http2Session>();
  /** Open streams that get no answer. */
  const silent = new Set<ServerHttp2Stream>();
  let open_streams = 0;
  let most_streams = 0;
  let session_count = 0;
  /** The last stream that a GOAWAY named. */
  const left_out = new WeakMap<Http2Session, number>();
  let gathering = 0;
  const gathered: (() => void)[] = [];
  let last_jwt = "";
  let port = 0;
  let server: Http2SecureServer;

  const respond = (stream: ServerHttp2Stream, status: number, headers: object, body?: object) => {
    if (stream.destroyed || stream.closed) return;
    stream.respond({ ":status": status, ...headers }, { endStream: body === undefined });
    if (body) stream.end(JSON.stringify(body));
  };

  const answer = ({ stream, session, id, headers }: Incoming, body: Buffer) => {
    // Streams that a GOAWAY excluded are ignored.
    if (id > (left_out.get(session) ?? Number.POSITIVE_INFINITY)) return;
    const request = readRequest(headers, body, numbers.get(session) ?? 0, now());
    received.push(request);
    last_jwt = request.jwt;
    const plan = behave(request);
    const apns_id = { "apns-id": request.apns_id };
    const accept = () => {
      delivered.push(request);
    };
    if (plan && "status" in plan) {
      const { status, reason, timestamp, retry_after } = plan;
      const extra = retry_after === undefined ? {} : { "retry-after": String(retry_after) };
      return respond(
        stream,
        status,
        { ...apns_id, ...extra },
        {
          reason,
          ...(timestamp !== undefined && { timestamp: Math.round(timestamp * 1000) }),
        },
      );
    }
    if (plan && "accept" in plan && plan.accept) accept();
    if (plan && "hang" in plan) return void silent.add(stream);
    if (plan && "reset" in plan) return stream.destroy(new Error("reset"));
    if (plan && "drop" in plan) {
      for (const socket of sockets) socket.destroy();
      return;
    }
    if (plan && "goaway" in plan && plan.goaway !== "graceful") {
      if (session.destroyed) return;
      if (plan.goaway === "partial") {
        left_out.set(session, id - 2);
        session.goaway(0, id - 2);
      } else session.goaway(2);
      return void setTimeout(() => session.destroy(), 5);
    }
    const refusal = refusalOf(request, body, { headers, key_id, publicKey, now: now() });
    if (refusal) {
      faults.push(`${refusal.reason} for ${request.type} ${JSON.stringify(request.payload)}`);
      return respond(stream, refusal.status, apns_id, { reason: refusal.reason });
    }
    accept();
    respond(stream, 200, apns_id);
    if (plan && "goaway" in plan) session.close();
  };

  const listen = () =>
    new Promise<void>((resolve) => {
      server = createSecureServer({
        ...identity,
        settings: { maxConcurrentStreams: max_streams },
      });
      server.on("secureConnection", (socket: Socket) => {
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket));
      });
      server.on("session", (session) => {
        sessions.add(session);
        numbers.set(session, ++session_count);
        session.on("error", () => {});
        session.on("close", () => sessions.delete(session));
      });
      server.on("sessionError", () => {});
      server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
        open_streams++;
        most_streams = Math.max(most_streams, open_streams);
        stream.on("error", () => {});
        stream.on("close", () => {
          open_streams--;
          silent.delete(stream);
        });
        const session = stream.session!;
        if (swallowing.has(session)) return void silent.add(stream);
        const incoming = { stream, session, id: stream.id!, headers };
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          const finish = () => answer(incoming, Buffer.concat(chunks));
          if (gathering > 0) {
            gathered.push(finish);
            if (gathered.length === gathering) {
              gathering = 0;
              for (const one of gathered.splice(0)) one();
            }
          } else if (holding) holding.push(finish);
          else if (delay > 0) setTimeout(finish, delay);
          else finish();
        });
      });
      server.listen(port, "127.0.0.1", () => {
        port = (server.address() as AddressInfo).port;
        resolve();
      });
    });

  const stop = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
    await Promise.race([closed, Bun.sleep(200)]);
  };

  await listen();
  afterAll(stop);

  return {
    url: `https://127.0.0.1:${port}`,
    /** PEM of the CA to trust. */
    ca,
    key_id,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    /** Every request that arrived completely. */
    received,
    /** Requests that count as delivered, repetitions included. */
    delivered,
    /** The provider token of the last request. */
    lastJwt: () => last_jwt,
    /** Requests that Apple would have refused. */
    faults,
    sessions: () => session_count,
    openStreams: () => open_streams,
    /** Open streams that get no answer. */
    silentStreams: () => silent.size,
    /** The most streams that were open at once. */
    mostStreams: () => most_streams,
    /** How each request is treated from now on. */
    behave(next: (request: Received) => Behaviour): void {
      behave = next;
    },
    /** The service's time from now on. */
    setNow(next: () => number): void {
      now = next;
    },
    /**
     * From now on, holds back each request and its effects. `pass`: later requests are answered at once.
     * `release`: so are the held ones.
     */
    hold(): { readonly pass: () => void; readonly release: () => void } {
      const held: (() => void)[] = [];
      holding = held;
      const pass = () => {
        if (holding === held) holding = null;
      };
      return {
        pass,
        release() {
          pass();
          for (const finish of held.splice(0)) finish();
        },
      };
    },
    /** Answers nothing until this many requests wait, and then all of them. */
    gather(count: number): void {
      gathering = count;
    },
    /** From now on, the open connections accept everything and never respond. */
    swallow(): void {
      for (const session of sessions) swallowing.add(session);
    },
    forget(): void {
      received.length = 0;
      delivered.length = 0;
    },
    stop,
    /** Starts again on the same port. */
    start: listen,
    /** The variables for an environment that this stand-in serves. */
    env(environment: "PRODUCTION" | "SANDBOX"): Record<string, string> {
      return {
        APNS_TEAM_ID: TEAM,
        APNS_BUNDLE_ID: BUNDLE,
        APNS_CA_FILE: ca_file,
        [`APNS_${environment}_KEY_ID`]: key_id,
        [`APNS_${environment}_KEY`]: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
        [`APNS_${environment}_URL`]: `https://127.0.0.1:${port}`,
      };
    },
  };
}
