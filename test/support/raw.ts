/** HTTP as bytes on a socket, for requests that a well-behaved client would not send. */

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RawConnection {
  /** Sends text, or bytes, as they are. */
  write(data: string | Uint8Array): void;
  /** Reads nothing more of what arrives, until {@link resume}. */
  pause(): void;
  resume(): void;
  /** The next whole response to a request of this method; null if the connection ends first. */
  answer(method?: string): Promise<RawAnswer | null>;
  /** Whether the connection has ended; a paused one does not notice. */
  ended(): boolean;
  end(): void;
}

/** Opens a connection to the server at `url`. */
export async function connect(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  let received = Buffer.alloc(0);
  let queue: Buffer[] = [];
  let ended = false;
  let wake = () => {};

  // Bytes that the socket does not accept at once wait.
  const flush = (socket: Bun.Socket) => {
    while (queue.length > 0) {
      const [first, ...rest] = queue as [Buffer, ...Buffer[]];
      const written = socket.write(first);
      if (written < first.length) {
        if (written > 0) queue = [first.subarray(written), ...rest];
        return;
      }
      queue = rest;
    }
  };
  const stop = () => {
    ended = true;
    wake();
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, chunk) {
        received = Buffer.concat([received, chunk]);
        wake();
      },
      drain: flush,
      close: stop,
      end: stop,
      error: stop,
    },
  });

  const take = (method: string): RawAnswer | null => {
    const head_end = received.indexOf("\r\n\r\n");
    if (head_end < 0) return null;
    const [status_line, ...lines] = received.subarray(0, head_end).toString().split("\r\n");
    const headers = new Headers();
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    }
    const status = Number(status_line!.split(" ")[1]);
    const length = method === "HEAD" ? 0 : Number(headers.get("content-length") ?? 0);
    const end = head_end + 4 + length;
    if (received.length < end) return null;
    const text = received.subarray(head_end + 4, end).toString();
    received = received.subarray(end);
    return { status, headers, text };
  };

  return {
    write(data) {
      queue.push(Buffer.from(data as string));
      flush(socket);
    },
    async answer(method = "GET") {
      for (;;) {
        const answer = take(method);
        if (answer || ended) return answer;
        await new Promise<void>((resume) => {
          wake = resume;
        });
      }
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    ended: () => ended,
    end: () => socket.end(),
  };
}

/** One request on its own connection; `target` is sent as it is. */
export async function sendRaw(
  url: string,
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body = "",
): Promise<RawAnswer> {
  const connection = await connect(url);
  connection.write(head(method, target, headers, body) + body);
  const answer = await connection.answer(method);
  connection.end();
  if (!answer) throw new Error("the connection ended without an answer");
  return answer;
}

/** The head of a request; a length is declared if there is a body and no other framing. */
export function head(
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body = "",
): string {
  const all = {
    host: "127.0.0.1",
    ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`;
}
