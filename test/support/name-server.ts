/** A name server on 127.0.0.1, over UDP and TCP. */

import { afterAll } from "bun:test";
import dgram from "node:dgram";
import net from "node:net";

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const NAMES = new Map<number, string>(Object.entries(TYPES).map(([name, type]) => [type, name]));

interface ResourceRecord {
  readonly type: keyof typeof TYPES;
  /** An address, or the name that a CNAME leads to. */
  readonly value: string;
  /** The name that the record belongs to; the requested name when absent. */
  readonly of?: string;
}

/**
 * The records of a name; `missing`: the name does not exist; `broken`: the server fails; `silent`:
 * no answer; `truncated`: over UDP, "ask again over TCP".
 */
export type Zone = (
  name: string,
  over: "udp" | "tcp",
) => readonly ResourceRecord[] | "missing" | "broken" | "silent" | "truncated";

export async function startNameServer(zone: Zone) {
  const asked: string[] = [];

  const answerTo = (query: Buffer, over: "udp" | "tcp"): Buffer | null => {
    const labels: string[] = [];
    let at = 12;
    for (; query[at]; at += query[at]! + 1) {
      labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!));
    }
    const name = labels.join(".").toLowerCase();
    const type = query.readUInt16BE(at + 1);
    asked.push(`${over} ${NAMES.get(type) ?? type} ${name}`);
    const known = zone(name, over);
    if (known === "silent") return null;
    const records = typeof known === "string" ? [] : known;
    const own = records.filter((one) => TYPES[one.type] === type || one.type === "CNAME");
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    const fault = known === "missing" ? 3 : known === "broken" ? 2 : 0;
    header.writeUInt16BE(0x8180 | (known === "truncated" ? 0x200 : 0) | fault, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(own.length, 6);
    const question = query.subarray(12, at + 5);
    return Buffer.concat([header, question, ...own.map((one) => wire({ of: name, ...one }))]);
  };

  const tcp = net.createServer((socket) => {
    socket.on("error", () => {});
    let rest = Buffer.alloc(0);
    socket.on("data", (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length > 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const end = 2 + rest.readUInt16BE(0);
        const answer = answerTo(rest.subarray(2, end), "tcp");
        rest = rest.subarray(end);
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer?.length ?? 0);
        if (answer) socket.write(Buffer.concat([length, answer]));
      }
    });
  });
  // The system chooses a port that is free for TCP, and it nearly always is for UDP too.
  await new Promise<void>((ready) => tcp.listen(0, "127.0.0.1", ready));
  const { port } = tcp.address() as net.AddressInfo;
  const udp = dgram.createSocket("udp4");
  udp.on("message", (query, from) => {
    const answer = answerTo(query, "udp");
    if (answer) udp.send(answer, from.port, from.address);
  });
  await new Promise<void>((ready, fail) => {
    udp.once("error", fail);
    udp.bind(port, "127.0.0.1", ready);
  });
  afterAll(() => {
    udp.close();
    tcp.close();
  });
  return {
    address: `127.0.0.1:${port}`,
    /** Queries since the last call, such as `udp A relay.example`. */
    take: () => asked.splice(0),
    /** Names that were looked up so far. */
    names: () => new Set(asked.map((line) => line.split(" ")[2])),
  };
}

function wire({ type, value, of = "" }: ResourceRecord): Buffer {
  const data =
    type === "CNAME"
      ? wireName(value)
      : type === "A"
        ? Buffer.from(value.split(".").map(Number))
        : wireAddress(value);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(TYPES[type], 0);
  head.writeUInt16BE(1, 2);
  // A time to live of zero: not to be cached.
  head.writeUInt32BE(0, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([wireName(of), head, data]);
}

const wireName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.from([0]),
  ]);

/** The bytes of an IPv6 address that has at most one `::`. */
function wireAddress(address: string): Buffer {
  const [before = "", after = ""] = address.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const zeros = 8 - groups(before).length - groups(after).length;
  const all = [...groups(before), ...Array<string>(zeros).fill("0"), ...groups(after)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
