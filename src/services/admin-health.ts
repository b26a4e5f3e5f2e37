/** Whether everything is well, in sentences for the administrator (§4.3.2). */

import type { FaultKind, FaultLog } from "../../db/store/faults.ts";
import type { Store } from "../../db/store/store.ts";
import type { AdminHealth, HealthCheck } from "../model/admin.ts";
import type { BackupStatus } from "../model/backup.ts";
import type { DeliveryRecord, LaneHealth, ReplyHealth } from "../model/notification.ts";
import { NOTIFICATION_LIMITS } from "../notification-limits.ts";
import type { DiskSpace } from "../observability/disk-space.ts";
import type { RecentFaults } from "../observability/recent-faults.ts";
import type { StoreClock } from "../store-clock.ts";
import type { StoreStatistics } from "./store-statistics.ts";

/** Seconds of a small read from which on the store counts as slow. */
const SLOW = 0.25;
/** Free space that is little, and too little: a part of the disk, or bytes, whichever is less. */
const DISK = {
  little: { part: 0.1, bytes: 2e9 },
  too_little: { part: 0.02, bytes: 2e8 },
} as const;
/** Seconds before its end from which on a certificate is worth a warning. */
const CERTIFICATE_SOON = 14 * 86_400;
/** Seconds for which a fault counts as recent. */
const RECENT = 3_600;

const DAY = 86_400;

interface HealthDeps {
  readonly clock: Pick<StoreClock, "now" | "ahead" | "corrected" | "differs" | "jumped">;
  readonly store: Pick<Store, "kind" | "usable" | "isOther" | "writeLock">;
  /** Space of the disk with the store's file; null for a server. */
  readonly disk: () => Promise<DiskSpace | null>;
  readonly storeFaults: Pick<FaultLog, "current">;
  readonly statistics: Pick<StoreStatistics, "state" | "pushes" | "refused">;
  /** The host name by which clients come while none comes by that of `PUBLIC_URL`; else null. */
  readonly otherHost: () => { readonly came_by: string; readonly shown: string } | null;
  /** When the certificate that this process serves ends, in epoch seconds; null without one. */
  readonly certificateEnds: number | null;
  /** The automatic backups; null if no process makes any. */
  readonly backups: { status(): Promise<BackupStatus | null> };
  readonly laneHealth: () => readonly LaneHealth[];
  readonly reply_reader: { health(): readonly ReplyHealth[] };
  /** Name of the channel that a lane belongs to; null for a lane of another version. */
  readonly channelOf: (lane: string) => string | null;
  /** What people call a channel, if that is not its name as words. */
  readonly titleOf: (channel: string) => string | undefined;
  readonly faults: RecentFaults;
}

type State = HealthCheck["state"];
type Found = Pick<HealthCheck, "state" | "text"> & {
  readonly at?: number;
  readonly neutral?: true;
};

const WORST: readonly State[] = ["fault", "warning", "ok"];
const worst = (states: readonly State[]): State =>
  WORST.find((one) => states.includes(one)) ?? "ok";

export function createAdminHealth(deps: HealthDeps) {
  const { clock, store, statistics, faults } = deps;

  const nameOf = (channel: string): string => deps.titleOf(channel) ?? wordsOf(channel);

  const checkStore = async (): Promise<Found> => {
    const state = await statistics.state().catch(() => null);
    if (store.isOther()) {
      return {
        state: "fault",
        text: "The database server has a different database than when Relay started. Relay doesn't use it.",
      };
    }
    if (!state) {
      return {
        state: "fault",
        text: "The database can't be reached. Nobody can use Relay until it's back.",
      };
    }
    const lock = store.writeLock();
    if (lock) return { state: "fault", text: lockedText(lock) };
    if (!store.usable()) {
      return { state: "fault", text: unsaved(store.kind, deps.storeFaults.current()) };
    }
    const answers = `The database answers in ${milliseconds(state.latency)}`;
    return state.latency > SLOW
      ? { state: "warning", text: `${answers}, which is slow.` }
      : { state: "ok", text: `${answers}.` };
  };

  const checkDisk = async (): Promise<Found | null> => {
    const disk = await deps.disk();
    if (!disk) return null;
    const { free, size: total } = disk;
    const isBelow = ({ part, bytes }: { part: number; bytes: number }) =>
      free < Math.min(total * part, bytes);
    const text = `${gigabytes(free)} of ${gigabytes(total)} are free on the disk.`;
    if (isBelow(DISK.too_little)) {
      return { state: "fault", text: `${text} Relay will soon be unable to save anything.` };
    }
    if (isBelow(DISK.little)) return { state: "warning", text: `${text} Make room soon.` };
    return { state: "ok", text };
  };

  const checkClock = (): Found | null => {
    const ahead = clock.ahead();
    const jumped = clock.jumped();
    if (ahead === null) return null;
    if (clock.differs()) {
      const by = `${inWords(Math.round(Math.abs(ahead)))} ${ahead > 0 ? "ahead of" : "behind"}`;
      return {
        state: "warning",
        text: `This server's clock is ${by} the database's. Relay goes by the database's. Turn on time synchronization.`,
      };
    }
    if (jumped === null) {
      return { state: "ok", text: "This server's clock agrees with the database's." };
    }
    const by = inWords(Math.round(Math.abs(jumped)));
    return {
      state: "warning",
      text:
        jumped > 0
          ? `Time jumped by ${by}: this server slept, or the database's clock was set. What is overdue by it ends within 10 minutes.`
          : `The database's clock was set back by ${by}. What was to end or be sent by it does so later.`,
    };
  };

  const checkAddress = (): Found | null => {
    const other = deps.otherHost();
    if (other === null) return null;
    return {
      state: "warning",
      text: `Requests come for ${other.came_by}, and none for ${other.shown}, the host of PUBLIC_URL. Links and set-up lines lead there: correct it if it is wrong.`,
    };
  };

  const checkCertificate = (): Found | null => {
    const { certificateEnds } = deps;
    if (certificateEnds === null) return null;
    const left = certificateEnds - clock.now();
    if (left <= 0) {
      return {
        state: "fault",
        text: "The certificate has expired: browsers warn about this server.",
      };
    }
    const days = Math.floor(left / DAY);
    const text = `The certificate is valid for another ${days === 1 ? "day" : `${days} days`}`;
    return left <= CERTIFICATE_SOON
      ? { state: "warning", text: `${text}. Replace it, and restart Relay.` }
      : { state: "ok", text: `${text}.` };
  };

  const checkBackups = async (): Promise<Found | null> => {
    const status = await deps.backups.status().catch(() => undefined);
    // The store's own line says so.
    if (status === undefined) return null;
    return status === null ? NO_BACKUPS : backupsFound(status, clock.now());
  };

  const checkChannel = (
    channel: string,
    lanes: readonly LaneHealth[],
    records: readonly DeliveryRecord[],
    refused: readonly Refused[],
  ): Found | null => {
    const name = nameOf(channel);
    const down = lanes.find(({ state }) => state !== "open");
    if (down) {
      const why = down.reason === null ? "" : ` (${down.reason})`;
      return down.state === "stopped"
        ? {
            state: "fault",
            text: `${name}: the service refuses this server${why}. Correct the configuration and restart Relay.`,
            at: down.since,
          }
        : {
            state: "warning",
            text: `${name}: the service doesn't take notifications now${why}. Relay tries again.`,
            at: down.since,
          };
    }
    const sent = records.find(({ outcome }) => outcome === "sent");
    const failed = records.find(({ outcome }) => FAILURES[outcome] !== undefined);
    const waiting = refused.toSorted((one, other) => other.tried_at - one.tried_at).at(0);
    if (waiting && waiting.tried_at > Math.max(sent?.done_at ?? 0, failed?.done_at ?? 0)) {
      const why = waiting.code === null ? "" : ` (${waiting.code})`;
      return {
        state: "warning",
        text: `${name}: the service didn't take the last notification${why}. Relay tries again.`,
        at: waiting.tried_at,
      };
    }
    if (failed && failed.done_at > (sent?.done_at ?? 0)) {
      const why = failed.reason === null ? "" : ` (${failed.reason})`;
      return {
        state: "warning",
        text: `${name}: the last notification failed, because ${FAILURES[failed.outcome]}${why}.`,
        at: failed.done_at,
      };
    }
    if (!sent) return null;
    return {
      state: "ok",
      text: `${name}: the service accepted the last notification.`,
      at: sent.done_at,
    };
  };

  /** Says of which channels no answers arrive. */
  const checkAnswers = (): Found[] =>
    deps.reply_reader
      .health()
      .filter(({ connections, working }) => connections > 0 && working === 0)
      .map(({ channel }) => ({
        state: "warning",
        text: `${nameOf(channel)}: answers from there don't arrive at the moment. Relay tries again.`,
      }));

  const checkNotifications = async (): Promise<Found[]> => {
    const [pushes, refused] = await Promise.all([
      statistics.pushes().catch(() => null),
      statistics.refused().catch(() => null),
    ]);
    const unheard = checkAnswers();
    // The store's own line says so.
    if (!pushes || !refused) return unheard;
    const lanes = deps.laneHealth();
    const channels = [...new Set(lanes.map(({ channel }) => channel))];
    const found = channels.flatMap((channel) => {
      const records = pushes.records.filter(({ lane }) => deps.channelOf(lane) === channel);
      const own = lanes.filter((lane) => lane.channel === channel);
      const waiting = refused.filter(({ lane }) => deps.channelOf(lane) === channel);
      return checkChannel(channel, own, records, waiting) ?? [];
    });
    if (found.length > 0) return [...found, ...unheard];
    return [...unheard, NOT_NOTIFIED];
  };

  const checkFaults = (): Found => {
    const [last] = faults.read(clock.corrected());
    if (!last) return { state: "ok", text: "No errors since Relay started." };
    const found = { text: `Last error: ${last.text}.`, at: last.last_at };
    return clock.now() - last.last_at < RECENT
      ? { ...found, state: "warning" }
      : { ...found, state: "ok", neutral: true };
  };

  return {
    /** Looks at everything now. Works while the store is away. */
    async read(): Promise<AdminHealth> {
      const [stored, disk, backups, notifications] = await Promise.all([
        checkStore(),
        checkDisk(),
        checkBackups(),
        checkNotifications(),
      ]);
      const of = (name: HealthCheck["name"], found: Found | null): HealthCheck[] =>
        found ? [{ name, neutral: false, ...found, at: found.at ?? null }] : [];
      const checks = [
        ...of("store", stored),
        ...of("disk", disk),
        ...of("clock", checkClock()),
        ...of("address", checkAddress()),
        ...of("certificate", checkCertificate()),
        ...of("backups", backups),
        ...notifications.flatMap((one) => of("notifications", one)),
        ...of("errors", checkFaults()),
      ];
      return {
        state: worst(checks.map(({ state }) => state)),
        checks,
        errors: faults.read(clock.corrected()),
      };
    },
  };
}

const NO_BACKUPS: Found = {
  state: "ok",
  text: "No automatic backups are configured: set BACKUP_DIR, unless you make backups by other means.",
  neutral: true,
};

type Refused = Awaited<ReturnType<StoreStatistics["refused"]>>[number];

/** Why nothing can be saved, and what to do about it. */
function unsaved(kind: Store["kind"], fault: FaultKind | null): string {
  switch (fault) {
    case "disk full":
      return kind === "server"
        ? "The disk of the database server is full, or fails, so nothing can be saved. Make room there."
        : "The disk is full, so nothing can be saved. Make room.";
    case "read-only":
      return "The database may not be written to, so nothing can be saved.";
    default:
      return "The database can be read, but nothing can be saved.";
  }
}

/** No record of a delivery is left. Messages of webhooks have none. */
const NOT_NOTIFIED: Found = {
  state: "ok",
  text: `No notification was sent in the last ${NOTIFICATION_LIMITS.record_days} days. Webhooks aren't counted.`,
  neutral: true,
};

/** A backup is missing if the last one is older than two of its periods, and this many seconds. */
const BACKUP_LATE = 3_600;

/** What to say of automatic backups. */
function backupsFound({ every, made, failing }: BackupStatus, now: number): Found {
  const why = failing && `Backups fail: ${failing.reason}.`;
  if (!made) {
    return why
      ? { state: "fault", text: `${why} There is no backup yet.`, at: failing.since }
      : { state: "ok", text: "The first backup will be made soon.", neutral: true };
  }
  const age = now - made.at;
  if (age > 2 * every + BACKUP_LATE) {
    const text = `The last backup is too old: one should be made every ${inWords(every)}.`;
    return { state: "fault", text: why ? `${text} ${why}` : text, at: made.at };
  }
  return why
    ? {
        state: "warning",
        text: `${why} The last good one is ${inWords(age)} old.`,
        at: failing.since,
      }
    : { state: "ok", text: `The last backup is good (${gigabytes(made.bytes)}).`, at: made.at };
}

/** A duration in a unit of which there are at least two, such as `3 hours`. */
function inWords(seconds: number): string {
  const units = [
    ["days", DAY],
    ["hours", 3_600],
    ["minutes", 60],
  ] as const;
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ["seconds", 1];
  return `${Math.round(seconds / size)} ${unit}`;
}

/** Why a delivery failed, by its outcome. A device that is gone, or news that is old, is no failure. */
const FAILURES: Readonly<Partial<Record<DeliveryRecord["outcome"], string>>> = {
  expired: "it couldn't be sent in time",
  unclear: "the service didn't confirm it",
  refused: "the service refused it",
};

/** Who holds the write lock, and what to do about it. */
function lockedText({ seconds, holder }: NonNullable<ReturnType<Store["writeLock"]>>): string {
  const nothing = `so nothing has been saved for ${Math.round(seconds)} seconds`;
  if (!holder) return `Another process holds the write lock of the database, ${nothing}.`;
  const { pid, command, unit, state } = holder;
  const name = `Process ${pid} (${command}${unit === null ? "" : ` of ${unit}`})`;
  return state === "stopped"
    ? `${name} is stopped and holds the write lock of the database, ${nothing}. Continue it (kill -CONT ${pid}) or end it (kill -KILL ${pid}).`
    : `${name} holds the write lock of the database and is ${state}, ${nothing}. End it if that doesn't change.`;
}

const milliseconds = (seconds: number): string =>
  `${Math.max(0.1, Number((seconds * 1000).toPrecision(2)))} ms`;

const gigabytes = (bytes: number): string =>
  bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${Number((bytes / 1e9).toPrecision(3))} GB`;

/** The name of a channel as words. */
const wordsOf = (channel: string): string => {
  const words = channel.replaceAll("_", " ");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
};
