/** The processes of a run of chaos: Relay, its store, the links between them, and the store's disk. */

import { afterAll } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type RelayProcess, startProcess } from "../../test/support/process.ts";
import type { Random } from "../../test/support/random.ts";
import { type Sqld, startSqld } from "../../test/support/sqld.ts";
import { tempFolder } from "../../test/support/temp.ts";
import { type Link, startLink } from "./link.ts";

export type StoreKind = "file" | "server";

/** Of the package `libfaketime`: moves the wall clock of a process, and leaves its monotonic one. */
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
/** Bytes of the disk with the store, so that it is quickly full. */
const DISK = 192 * 1024 * 1024;
/** A line of a log that shows a defect: `fetch` also throws a TypeError, with the code of a lost connection. */
const DEFECT = /^(?!.*"code":"E[A-Z]+").*(TypeError|ReferenceError|RangeError|nhandled|panic).*$/m;
/** Milliseconds in which a process must leave after SIGTERM: Docker kills after 10 seconds. */
const LEAVE = 10_000;

/** One process of Relay, or the place of one. */
export interface Slot {
  readonly index: number;
  /** Clients connect here, whatever listens behind it. */
  readonly link: Link;
  /** Between it and a libSQL server. */
  readonly store_link: Link | null;
  app: RelayProcess | null;
  /** Serializes what is done to it. */
  busy: Promise<void>;
}

export type Servers = Awaited<ReturnType<typeof startServers>>;

interface ServersOptions {
  readonly kind: StoreKind;
  readonly processes: number;
  readonly env: Readonly<Record<string, string>>;
  readonly random: Random;
  /** Called with what contradicts the interface. */
  readonly fault: (entity: string, text: string) => void;
}

/** Mounts a small disk at a folder of its own; null where that is not permitted. */
function mountDisk(): string | null {
  const folder = tempFolder();
  const args = ["mount", "-t", "tmpfs", "-o", `size=${DISK}`, "relay-chaos", folder];
  if (Bun.spawnSync(args, { stdio: ["ignore", "ignore", "ignore"] }).exitCode !== 0) return null;
  afterAll(() => void Bun.spawnSync(["umount", "-l", folder]));
  return folder;
}

export async function startServers({ kind, processes, env, random, fault }: ServersOptions) {
  const disk = mountDisk();
  const clocks = tempFolder();
  const has_clocks = existsSync(FAKETIME);
  const folder = join(disk ?? tempFolder(), "store");
  mkdirSync(folder);
  const sqld: Sqld | null = kind === "server" ? await startSqld(folder) : null;
  const direct_url = sqld?.url ?? `file:${join(folder, "relay.db")}`;

  const clockFile = (index: number) => join(clocks, String(index));
  const setClock = (index: number, offset: number) =>
    writeFileSync(clockFile(index), `${offset < 0 ? "-" : "+"}${Math.abs(offset)}\n`);

  const slots: Slot[] = [];
  for (let index = 0; index < processes; index++) {
    const store_link = sqld ? await startLink(() => Number(new URL(sqld.url).port), random) : null;
    const link = await startLink(() => {
      const { app } = slots[index]!;
      return app ? Number(new URL(app.url).port) : null;
    }, random);
    slots.push({ index, link, store_link, app: null, busy: Promise.resolve() });
    setClock(index, 0);
  }

  /** Starts it again until it runs: a store that is away or full refuses a start, as it should. */
  const start = async (slot: Slot): Promise<void> => {
    const url = slot.store_link?.url ?? direct_url;
    for (let tries = 0; ; tries++) {
      try {
        slot.app = await startProcess({
          ...env,
          DATABASE_URL: url,
          ...(has_clocks && {
            LD_PRELOAD: FAKETIME,
            FAKETIME_TIMESTAMP_FILE: clockFile(slot.index),
            FAKETIME_CACHE_DURATION: "1",
            FAKETIME_DONT_FAKE_MONOTONIC: "1",
          }),
        });
        return;
      } catch (error) {
        if (tries >= 100) throw error;
        await Bun.sleep(200);
      }
    }
  };
  await Promise.all(slots.map(start));

  const ended = async (slot: Slot, app: RelayProcess, signal: NodeJS.Signals) => {
    if (slot.app === app) slot.app = null;
    app.kill(signal);
    const from = performance.now();
    const late = setTimeout(() => {
      if (signal !== "SIGTERM") return;
      fault(`process ${slot.index}`, `did not leave within ${LEAVE} ms of SIGTERM`);
      app.kill("SIGKILL");
    }, LEAVE);
    const code = await app.exited;
    clearTimeout(late);
    const [defect] = DEFECT.exec(app.log()) ?? [];
    if (defect) fault(`process ${slot.index}`, `its log has ${defect.slice(0, 2_000)}`);
    if (signal === "SIGTERM" && code !== 0 && performance.now() - from < LEAVE) {
      fault(`process ${slot.index}`, `left with exit code ${code}: ${app.log().slice(-2_000)}`);
    }
  };

  return {
    kind,
    slots,
    sqld,
    /** Of the store itself, not through a link. */
    direct_url,
    /** True if the disk of the store can be filled, and clocks moved, on this machine. */
    can: { fill: disk !== null, clocks: has_clocks },
    start,
    end: ended,
    setClock,
    /** Fills the disk; returns what empties it. */
    fill(): () => void {
      const path = join(disk!, "filler");
      const file = openSync(path, "w");
      const block = Buffer.alloc(1024 * 1024, 1);
      try {
        for (let size = block.length; size >= 1; ) {
          try {
            if (writeSync(file, block, 0, size) < size) throw new Error("full");
          } catch {
            size = size > 4_096 ? 4_096 : size >> 1;
          }
        }
      } finally {
        closeSync(file);
      }
      return () => rmSync(path, { force: true });
    },
    async stop(): Promise<void> {
      await Promise.all(slots.map(({ app }, i) => app && ended(slots[i]!, app, "SIGTERM")));
      for (const { link, store_link } of slots) {
        link.stop();
        store_link?.stop();
      }
      await sqld?.stop();
    },
  };
}
