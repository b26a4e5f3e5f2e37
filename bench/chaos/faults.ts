/** The plan of a run of chaos, made from its seed, and what carries it out. */

import type { Random } from "../../test/support/random.ts";
import type { Slot } from "./servers.ts";
import type { World } from "./world.ts";

const OF_PROCESS = ["kill", "restart", "leave", "freeze"] as const;
const OF_CLIENTS = ["cut clients", "refuse clients", "slow clients", "hold clients"] as const;
const OF_STORE = ["kill store", "freeze store", "cut store", "slow store", "refuse store"] as const;
const OTHERS = ["fill disk", "move clock", "services fail", "account leaves"] as const;

export type FaultKind =
  | (typeof OF_PROCESS)[number]
  | (typeof OF_CLIENTS)[number]
  | (typeof OF_STORE)[number]
  | (typeof OTHERS)[number];

/** Waits must end in time also during these. */
const HARMLESS: ReadonlySet<FaultKind> = new Set([
  ...(["slow clients", "slow store", "move clock", "services fail", "account leaves"] as const),
]);

interface Planned {
  readonly kind: FaultKind;
  /** Milliseconds after the start. */
  readonly at: number;
  /** The process that it hits. */
  readonly slot: number;
  /** Milliseconds that it lasts. */
  readonly lasts: number;
  /** Seconds by which a clock moves. */
  readonly offset: number;
}

/** Milliseconds between two faults. */
const BETWEEN = { least: 400, most: 2_600 };
const LASTS = { least: 200, most: 4_000 };
/** Seconds: within the second that the interface permits, a minute at which deliveries are due, and an hour's part. */
const OFFSETS = [-900, -90, -20, -2, 2, 20, 90, 900] as const;

interface PlanOptions {
  readonly kinds: readonly FaultKind[];
  readonly processes: number;
  readonly seconds: number;
  readonly random: Random;
}

/** The kinds of fault that can be injected here. */
export function possibleFaults({ servers }: Pick<World, "servers">): FaultKind[] {
  return [
    ...OF_PROCESS,
    ...OF_CLIENTS,
    ...(servers.kind === "server" ? OF_STORE : []),
    ...OTHERS.filter(
      (kind) =>
        (kind !== "fill disk" || servers.can.fill) && (kind !== "move clock" || servers.can.clocks),
    ),
  ];
}

/** Every kind once, in any order, and then kinds at random until the time is over. */
export function planOf({ kinds, processes, seconds, random }: PlanOptions): Planned[] {
  const between = (least: number, most: number) => least + random() * (most - least);
  const first = kinds
    .map((kind) => ({ kind, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ kind }) => kind);
  const plan: Planned[] = [];
  for (let at = 1_000; at < seconds * 1000; at += between(BETWEEN.least, BETWEEN.most)) {
    const kind = first.shift() ?? kinds[Math.floor(random() * kinds.length)]!;
    // Longer than a commit may take and shorter than a lease now, beyond both then.
    const long = random() < 0.25;
    plan.push({
      kind,
      at,
      slot: Math.floor(random() * processes),
      lasts: between(LASTS.least, LASTS.most) * (long ? 3 : 1),
      offset: OFFSETS[Math.floor(random() * OFFSETS.length)]!,
    });
  }
  return plan;
}

type Injected = Map<FaultKind, number>;

/** Carries the plan out, and then ends every fault. Returns how often each was injected. */
export async function injectAll(
  world: World,
  plan: readonly Planned[],
  leave: () => Promise<void>,
): Promise<Injected> {
  const { servers, services, model } = world;
  const injected: Injected = new Map();
  const running: Promise<void>[] = [];
  /** What concerns the store or its disk happens one at a time. */
  let store_busy = Promise.resolve();

  /** Begins after what was begun before in the same place. */
  const inTurn = (place: { busy: Promise<void> }, work: () => Promise<void>) => {
    place.busy = place.busy.then(work);
    return place.busy;
  };
  const ofStore = (work: () => Promise<void>) => {
    store_busy = store_busy.then(work);
    return store_busy;
  };
  const end = async (slot: Slot, signal: NodeJS.Signals, away: number) => {
    if (!slot.app) return;
    await servers.end(slot, slot.app, signal);
    await Bun.sleep(away);
    await servers.start(slot);
  };
  const during = async (lasts: number, begin: () => void, undo: () => void) => {
    begin();
    await Bun.sleep(lasts);
    undo();
  };

  const carryOut = ({ kind, slot: index, lasts, offset }: Planned): Promise<void> => {
    const slot = servers.slots[index]!;
    const { sqld } = servers;
    switch (kind) {
      case "kill":
        return inTurn(slot, () => end(slot, "SIGKILL", lasts / 8));
      case "restart":
        return inTurn(slot, () => end(slot, "SIGTERM", 0));
      case "leave":
        return inTurn(slot, () => end(slot, "SIGTERM", lasts * 2));
      case "freeze":
        return inTurn(slot, () => {
          const { app } = slot;
          return during(
            lasts,
            () => app?.kill("SIGSTOP"),
            () => app?.kill("SIGCONT"),
          );
        });
      case "cut clients":
        return during(
          lasts,
          () => slot.link.set({ cut_within: 2_000 }),
          () => slot.link.clear(),
        );
      case "refuse clients":
        return during(
          lasts,
          () => slot.link.set({ down: true }),
          () => slot.link.clear(),
        );
      case "slow clients":
        return during(
          lasts,
          () => slot.link.set({ delay: 150, rate: 40_000 }),
          () => slot.link.clear(),
        );
      case "hold clients":
        return during(
          lasts,
          () => slot.link.set({ hold: true }),
          () => slot.link.clear(),
        );
      case "kill store":
        return ofStore(async () => {
          await sqld!.kill();
          await Bun.sleep(lasts / 4);
          await sqld!.restart();
        });
      case "freeze store":
        return ofStore(() =>
          during(
            lasts,
            () => sqld!.freeze(),
            () => sqld!.thaw(),
          ),
        );
      case "cut store": {
        const link = slot.store_link!;
        return during(
          lasts,
          () => link.set({ cut_within: 20_000 }),
          () => link.clear(),
        );
      }
      case "slow store": {
        const link = slot.store_link!;
        return during(
          lasts,
          () => link.set({ delay: 100 }),
          () => link.clear(),
        );
      }
      case "refuse store": {
        const link = slot.store_link!;
        return during(
          lasts,
          () => link.set({ down: true }),
          () => link.clear(),
        );
      }
      case "fill disk":
        return ofStore(async () => {
          const empty = servers.fill();
          await Bun.sleep(lasts);
          empty();
        });
      case "move clock":
        return during(
          lasts,
          () => servers.setClock(index, offset),
          () => servers.setClock(index, 0),
        );
      case "services fail":
        return during(
          lasts / 2,
          () => {
            services.receiver.behave(() => 500);
            services.ntfy.behave("drop");
            services.pushes.behave("drop");
            services.telegram.behave("lost", "sendMessage");
          },
          () => {
            services.receiver.behave(() => 200);
            services.ntfy.behave("ok");
            services.pushes.behave("ok");
            services.telegram.behave("ok", "sendMessage");
          },
        );
      case "account leaves":
        return leave();
    }
  };

  const from = performance.now();
  for (const planned of plan) {
    await Bun.sleep(Math.max(0, planned.at - (performance.now() - from)));
    injected.set(planned.kind, (injected.get(planned.kind) ?? 0) + 1);
    const calm = HARMLESS.has(planned.kind) ? () => {} : model.disturb();
    const what = `${planned.kind} ${planned.slot} for ${Math.round(planned.lasts)} ms`;
    model.note("faults", what);
    const one = carryOut(planned).finally(() => {
      calm();
      model.note("faults", `end of ${what}`);
    });
    running.push(one);
  }
  await Promise.all(running);
  for (const { link, store_link } of servers.slots) {
    link.clear();
    store_link?.clear();
  }
  return injected;
}
