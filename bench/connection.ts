/** Sockets from a chosen loopback address: the server takes each address for another client. */

interface Handlers {
  data?(socket: Bun.Socket, chunk: Buffer): void;
  drain?(socket: Bun.Socket): void;
  close?(): void;
  error?(): void;
  connectError?(): void;
}

/** Connects from `address` (127.0.0.x). Rejects if the server accepts no more connections. */
export function connectFrom(address: string, port: number, handlers: Handlers) {
  const options = {
    hostname: "127.0.0.1",
    port,
    // Bun supports it, but its types do not have it.
    localAddress: address,
    socket: { data() {}, error() {}, ...handlers },
  };
  return Bun.connect(options);
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
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const from = end + END_OF_HEAD.length;
  if (bytes.length < from + length) return null;
  return { status: Number(head.slice(9, 12)), text: bytes.toString("utf8", from, from + length) };
}
