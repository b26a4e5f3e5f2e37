/** Sockets from a chosen loopback address: the server takes each address for another client. */

import { within } from "./within.ts";

/** Seconds for a connection: a server that accepts none leaves it in a queue of the kernel. */
const CONNECT = 10;

interface Handlers {
  data?(socket: Bun.Socket, chunk: Buffer): void;
  drain?(socket: Bun.Socket): void;
  close?(): void;
  error?(): void;
  connectError?(): void;
}

/** Connects from `address` (127.0.0.x). Rejects if the server accepts no more connections, after 10 seconds at most. */
export async function connectFrom(address: string, port: number, handlers: Handlers) {
  const options = {
    hostname: "127.0.0.1",
    port,
    // Bun supports it, but its types do not have it.
    localAddress: address,
    socket: { data() {}, error() {}, ...handlers },
  };
  const connecting = Bun.connect(options);
  try {
    return await within(CONNECT, "a connection", connecting);
  } catch (error) {
    connecting.then((socket) => socket.terminate()).catch(() => {});
    throw error;
  }
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface Connection {
  /** Sends one request and returns its response; null if the connection ends or `ms` pass first. */
  exchange(request: Uint8Array, ms: number): Promise<Answer | null>;
  readonly ended: boolean;
  end(): void;
}

const END_OF_HEAD = "\r\n\r\n";

/** A keep-alive connection with one request under way. */
export async function openConnection(address: string, port: number): Promise<Connection> {
  let received: Buffer = Buffer.alloc(0);
  let unsent: Uint8Array = new Uint8Array();
  let ended = false;
  let settle: (answer: Answer | null) => void = () => {};
  const stop = () => {
    ended = true;
    settle(null);
  };
  const flush = (own: Bun.Socket) => {
    unsent = unsent.subarray(Math.max(0, own.write(unsent)));
  };
  const socket = await connectFrom(address, port, {
    data(_, chunk) {
      received = Buffer.concat([received, chunk]);
      const answer = parse(received);
      if (answer) settle(answer);
    },
    drain: flush,
    close: stop,
    error: stop,
  });
  return {
    async exchange(request, ms) {
      if (ended) return null;
      received = Buffer.alloc(0);
      const answer = new Promise<Answer | null>((resolve) => {
        settle = resolve;
      });
      unsent = request;
      flush(socket);
      const timer = setTimeout(() => settle(null), ms);
      const found = await answer;
      clearTimeout(timer);
      return found;
    },
    get ended() {
      return ended;
    },
    end: () => socket.terminate(),
  };
}

/** The response, once it is complete. */
function parse(bytes: Buffer): Answer | null {
  const end = bytes.indexOf(END_OF_HEAD);
  if (end < 0) return null;
  const head = bytes.toString("latin1", 0, end);
  const from = end + END_OF_HEAD.length;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const is_chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
  const body = is_chunked ? joinChunks(bytes, from) : sliceOf(bytes, from, length);
  return body && { status: Number(head.slice(9, 12)), text: body.toString("utf8") };
}

/** These bytes, once all of them have arrived. */
const sliceOf = (bytes: Buffer, from: number, length: number): Buffer | null =>
  bytes.length < from + length ? null : bytes.subarray(from, from + length);

/** The chunked body that begins at `from`, once all of it has arrived. */
function joinChunks(bytes: Buffer, from: number): Buffer | null {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    const chunk = sliceOf(bytes, line + 2, size + 2);
    if (!chunk) return null;
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, size));
    at = line + 2 + size + 2;
  }
}
