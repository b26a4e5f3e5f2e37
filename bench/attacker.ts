/** One attack of `bench:attacks`, in its own process. Arguments: its name, the port, its address, its seconds. */

import { ATTACKS } from "./attack-kinds.ts";
import { connectFrom, openConnection } from "./connection.ts";
import { requestOf } from "./load.ts";
import { times } from "./process.ts";

const [name, port_text, address, seconds] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
];
const port = Number(port_text);
/** Connections that send one request after the other, and milliseconds between two requests. */
const SENDERS = 16;
const PACE = 2;
/** Milliseconds after which an attacker stops waiting for a response. */
const PATIENCE = 5_000;

const counts: Record<string, number> = {};
const saw = (what: string | number) => {
  counts[what] = (counts[what] ?? 0) + 1;
};
let end = 0;
const over = () => performance.now() > end;

/** The parts that attacks are built from. */
export interface Attacker {
  /** Creates an account with `keys` keys; returns their secrets. */
  join(keys: number): Promise<{ token: string; secrets: string[] }>;
  /** Sends one preparing request, whatever its response; returns the body. */
  prepare(line: string, credential: string, body: string): Promise<{ id: string } | null>;
  /** Sends requests on several connections until the time is over, and reads the responses. */
  flood(next: (turn: number) => Uint8Array, senders?: number): Promise<void>;
  /** Opens a connection that never reads, and sends these bytes as far as possible. */
  openDeaf(bytes: Uint8Array): Promise<{ write(bytes: Uint8Array): void; end(): void } | null>;
  over(): boolean;
}

const attacker: Attacker = {
  async join(keys) {
    const { token } = (await one("POST /v1/accounts", "", "{}")) as unknown as { token: string };
    const secrets: string[] = [];
    for (let i = 0; i < keys; i++) {
      const made = await one("POST /v1/keys", token, '{"label":"Attacker"}');
      secrets.push((made as unknown as { secret: string }).secret);
    }
    return { token, secrets };
  },
  prepare: one,
  async flood(next, senders = SENDERS) {
    let turn = 0;
    const send = async () => {
      while (!over()) {
        try {
          const connection = await openConnection(address, port);
          while (!over() && !connection.ended) {
            saw((await connection.exchange(next(turn++), PATIENCE))?.status ?? "none");
            await Bun.sleep(PACE);
          }
          connection.end();
        } catch {
          saw("refused");
          await Bun.sleep(10 * PACE);
        }
      }
    };
    await Promise.all(times(senders, send));
  },
  async openDeaf(bytes) {
    let unsent = bytes;
    let ours = false;
    const flush = (socket: Bun.Socket) => {
      unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
    };
    try {
      const close = () => {
        if (!ours) saw("closed");
      };
      const socket = await connectFrom(address, port, { drain: flush, close });
      socket.pause();
      flush(socket);
      saw("opened");
      return {
        write: (more) => void socket.write(more),
        end() {
          ours = true;
          socket.terminate();
        },
      };
    } catch {
      saw("refused");
      return null;
    }
  },
  over,
};

async function one(line: string, credential: string, body: string) {
  const connection = await openConnection(address, port);
  const request = requestOf(line, { credential, body: body && Buffer.from(body).toString("utf8") });
  const answer = await connection.exchange(request, PATIENCE);
  connection.end();
  return answer && answer.status < 300 ? (JSON.parse(answer.text) as { id: string }) : null;
}

const attack = await ATTACKS[name]!(attacker);
process.on("message", () => {
  end = performance.now() + Number(seconds) * 1_000;
  const tell = () => process.send!({ counts });
  // Some may still wait for a response that does not come.
  setTimeout(tell, (Number(seconds) + 1) * 1_000);
  void attack()
    .catch((error) => saw(String(error)))
    .then(tell);
});
process.on("disconnect", () => process.exit());
process.send!({ ready: true });
