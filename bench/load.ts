/** Load on raw keep-alive sockets, one request under way on each: lighter than `fetch`. */

import { within } from "./within.ts";

/** Seconds in which connections must be open, requests answered once a window is over, and frames must have come. */
const OPEN = 60;
const REST = 30;
const FRAME = 30;

const [LINE_END, CARRIAGE_RETURN] = [0x0a, 0x0d];

/** The result of one window of load. */
export interface Load {
  readonly count: number;
  readonly seconds: number;
  /** Milliseconds of each request, or of each frame. */
  readonly ms: number[];
}

interface Target {
  /** One port, or the ports of several processes, over which the connections are spread. */
  readonly port: number | readonly number[];
  /** For each connection, the requests it sends in turn. */
  readonly requests: readonly (readonly Uint8Array[])[];
  /** Any other status ends the bench. */
  readonly status: number;
  /**
   * Milliseconds between two requests of a connection; 0, the default: each is sent once the previous one is answered.
   * A request delayed by the previous response is timed from when it was due.
   */
  readonly pace?: number;
}

const END_OF_HEAD = "\r\n\r\n";
const LENGTH = "\r\ncontent-length: ";
const CHUNKED = "\r\ntransfer-encoding: chunked";

/** The bytes of a request, with `headers` as further lines. */
export function requestOf(
  line: string,
  { credential = "", body = "", headers = [] as readonly string[] } = {},
): Uint8Array {
  const head = [
    `${line} HTTP/1.1`,
    "host: 127.0.0.1",
    ...headers,
    ...(credential ? [`authorization: Bearer ${credential}`] : []),
    ...(body ? ["content-type: application/json", `content-length: ${body.length}`] : []),
  ];
  return Buffer.from(`${head.join("\r\n")}${END_OF_HEAD}${body}`);
}

/**
 * Opens the connections of a target; `run` loads it for a while, and may be called repeatedly. It rejects if a response has
 * another status, a connection ended, or a response is missing 30 seconds after the window.
 */
export async function openLoad({ port, requests, status, pace = 0 }: Target) {
  let until = 0;
  let ms: number[] = [];
  let busy = 0;
  let fault: Error | undefined;
  let idle = Promise.withResolvers<void>();
  const fail = (reason: string) => {
    fault ??= new Error(reason);
    idle.reject(fault);
  };
  // A connection may end between two windows: the next one says so.
  idle.promise.catch(() => {});

  const ports = [port].flat();
  const connect = (own: readonly Uint8Array[], index: number) => {
    let turn = 0;
    let sent_at = 0;
    let due_at = 0;
    let rest: Buffer = Buffer.alloc(0);
    const send = (socket: Bun.Socket, at: number) => {
      sent_at = at;
      socket.write(own[turn]!);
      turn = (turn + 1) % own.length;
    };
    const sendNext = (socket: Bun.Socket, now: number) => {
      due_at += pace;
      if (pace === 0) send(socket, now);
      else if (due_at <= now) send(socket, due_at);
      else setTimeout(() => send(socket, performance.now()), due_at - now);
    };
    return Bun.connect({
      hostname: "127.0.0.1",
      port: ports[index % ports.length]!,
      socket: {
        data(socket, chunk) {
          rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
          const total = lengthOf(rest);
          if (total === undefined || rest.length < total) return;
          const found = Number(rest.toString("latin1", 9, 12));
          if (found !== status) return fail(`an answer ${found}: ${rest.toString("utf8")}`);
          rest = Buffer.alloc(0);
          const now = performance.now();
          ms.push(now - sent_at);
          if (now < until) sendNext(socket, now);
          else if (--busy === 0) idle.resolve();
        },
        close: () => fail("a connection ended"),
      },
    }).then((socket) => ({
      start() {
        due_at = performance.now();
        send(socket, due_at);
      },
      end: () => socket.end(),
    }));
  };

  const opened = Promise.all(requests.map(connect));
  const connections = await within(OPEN, `${requests.length} connections`, opened);
  return {
    async run(seconds: number): Promise<Load> {
      if (fault) throw fault;
      idle = Promise.withResolvers();
      ms = [];
      busy = connections.length;
      const from = performance.now();
      until = from + seconds * 1000;
      for (const { start } of connections) start();
      const what = `the responses to ${connections.length} connections`;
      await within(seconds + REST, what, idle.promise);
      return { count: ms.length, seconds: (performance.now() - from) / 1000, ms };
    },
    close() {
      for (const { end } of connections) end();
    },
  };
}

/** The size of the whole response, once that is known. */
function lengthOf(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(END_OF_HEAD);
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end + 2).toLowerCase();
  if (head.includes(CHUNKED)) return endOfChunks(bytes, end + END_OF_HEAD.length);
  const at = head.indexOf(LENGTH);
  const length = at < 0 ? 0 : Number.parseInt(head.slice(at + LENGTH.length), 10);
  return end + END_OF_HEAD.length + length;
}

/** Where a chunked body that begins at `from` ends, once all of it has arrived; it has no trailers. */
function endOfChunks(bytes: Buffer, from: number): number | undefined {
  for (let at = from; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    at = line + 2 + size + 2;
    if (size === 0) return at;
  }
}

/** True if a chunked body ends with these bytes; its connection stays open. A frame ends with a line end, not with these. */
const endsBody = (bytes: Buffer): boolean =>
  bytes.at(-4) === CARRIAGE_RETURN && bytes.toString("latin1", bytes.length - 5) === "0\r\n\r\n";

interface Readers {
  readonly port: number;
  /** One event stream for each. */
  readonly requests: readonly Uint8Array[];
  /** Makes the server send one frame to every stream; the next one follows once a promise is kept. */
  readonly emit: () => unknown;
}

/**
 * Opens event streams; `run` sends frame after frame, each once all readers have the previous one. It rejects if a stream
 * ended, or a reader has no frame after 30 seconds.
 */
export async function openReaders({ port, requests, emit }: Readers) {
  let ms: number[] = [];
  let missing = requests.length;
  let sent_at = 0;
  let fault: Error | undefined;
  let arrived = Promise.withResolvers<void>();
  arrived.promise.catch(() => {});
  const fail = (reason: string) => {
    fault ??= new Error(reason);
    arrived.reject(fault);
  };
  /** Resolves once every reader has one more frame. */
  const all = () =>
    within(FRAME, "a frame to all streams", arrived.promise).catch((error: Error) => {
      throw fault ?? new Error(`${error.message}: ${missing} of ${requests.length} lack it`);
    });
  const open = async (request: Uint8Array) => {
    let begun = false;
    // The empty line that ends a frame may be divided between two packets.
    let in_line_end = false;
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data(_, chunk) {
          if (!begun && !chunk.toString("latin1", 0, 12).endsWith(" 200")) {
            fail(`an answer to a stream: ${chunk.toString("utf8")}`);
          }
          if (begun && endsBody(chunk)) fail("a stream ended");
          begun = true;
          let at = in_line_end && chunk[0] === LINE_END ? 0 : chunk.indexOf("\n\n");
          while (at >= 0) {
            ms.push(performance.now() - sent_at);
            if (--missing === 0) arrived.resolve();
            at = chunk.indexOf("\n\n", at + 1);
          }
          in_line_end = chunk.at(-1) === LINE_END;
        },
        close: () => fail("a stream ended"),
      },
    });
    socket.write(request);
    return socket;
  };
  const opened = Promise.all(requests.map(open));
  const sockets = await within(OPEN, `${requests.length} connections`, opened);
  // Each stream begins with one frame.
  await all();
  return {
    async run(seconds: number): Promise<Load> {
      ms = [];
      const from = performance.now();
      while (performance.now() < from + seconds * 1000) {
        if (fault) throw fault;
        arrived = Promise.withResolvers();
        missing = requests.length;
        sent_at = performance.now();
        await Promise.all([emit(), all()]);
      }
      return { count: ms.length, seconds: (performance.now() - from) / 1000, ms };
    },
    close() {
      for (const socket of sockets) socket.end();
    },
  };
}
