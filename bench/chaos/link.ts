/** A TCP link whose connections chaos cuts, refuses, delays, slows and holds, like a failing network. */

import { afterAll } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Random } from "../../test/support/random.ts";

/** What a link does to its connections. */
export interface Weather {
  /** New connections are ended at once. */
  readonly down?: boolean;
  /** Milliseconds that each piece takes at most; each takes a random part of it, in order. */
  readonly delay?: number;
  /** Bytes a second in each direction of a connection. */
  readonly rate?: number;
  /** Nothing moves; connections stay open. */
  readonly hold?: boolean;
  /** Each connection ends after this many bytes at most, in the middle of a request or response. */
  readonly cut_within?: number;
}

const CLEAR: Weather = {};
/** Bytes that one direction of a connection holds back before its sender must wait. */
const HELD = 256 * 1024;

export type Link = Awaited<ReturnType<typeof startLink>>;

/** Forwards each connection to the port that `target` returns at that time; null: nothing listens. */
export async function startLink(target: () => number | null, random: Random) {
  let weather = CLEAR;
  let cuts = 0;
  const sockets = new Set<Socket>();
  /** Called when a hold ends. */
  const held = new Set<() => void>();

  const forward = (from: Socket, to: Socket, spend: (bytes: number) => number, cut: () => void) => {
    const queue: (Buffer | null)[] = [];
    let queued = 0;
    let moving = false;
    const move = async () => {
      if (moving) return;
      moving = true;
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { delay = 0, rate } = weather;
        if (delay > 0) await Bun.sleep(random() * delay);
        if (rate && next) await Bun.sleep((next.length / rate) * 1000);
        while (weather.hold && !from.destroyed) {
          await new Promise<void>((end) => held.add(end));
        }
        if (to.destroyed) break;
        if (next === null) {
          to.end();
          continue;
        }
        queued -= next.length;
        if (queued < HELD) from.resume();
        const left = spend(next.length);
        if (left >= 0) {
          to.write(next);
          continue;
        }
        cuts++;
        // Bytes before the cut still arrive.
        to.write(next.subarray(0, next.length + left), cut);
        break;
      }
      moving = false;
    };
    from.on("data", (chunk: Buffer) => {
      queue.push(chunk);
      queued += chunk.length;
      if (queued >= HELD) from.pause();
      void move();
    });
    from.on("end", () => {
      queue.push(null);
      void move();
    });
  };

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const port = weather.down ? null : target();
    client.on("error", () => client.destroy());
    if (port === null) return void client.destroy();
    const upstream = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const cut = () => {
      for (const socket of [client, upstream]) {
        socket.destroy();
        sockets.delete(socket);
      }
      for (const end of held) end();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("close", cut);
      socket.on("error", cut);
    }
    let budget = Number.POSITIVE_INFINITY;
    let of = CLEAR;
    const spend = (bytes: number) => {
      if (of !== weather) {
        of = weather;
        const { cut_within } = weather;
        budget = cut_within === undefined ? Number.POSITIVE_INFINITY : random() * cut_within;
      }
      budget -= bytes;
      return budget;
    };
    forward(client, upstream, spend, cut);
    forward(upstream, client, spend, cut);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const cut = () => {
    cuts += sockets.size / 2;
    for (const socket of [...sockets]) socket.destroy();
  };
  const stop = () => {
    for (const socket of [...sockets]) socket.destroy();
    server.close();
  };
  afterAll(stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Connections cut so far. */
    cuts: () => Math.round(cuts),
    /** Ends every open connection. */
    cut,
    /** How it treats connections from now on; what is held goes on when a hold ends. */
    set(next: Weather): void {
      weather = next;
      if (next.down) cut();
      if (next.hold) return;
      for (const end of held) end();
      held.clear();
    },
    clear(): void {
      this.set(CLEAR);
    },
    stop,
  };
}
