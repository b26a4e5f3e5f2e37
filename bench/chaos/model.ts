/** What the clients of a run of chaos were told: what the store must hold once it is calm. */

/** What became of one request: its client was told so, was refused, or never heard of it. */
export type Fate = "acknowledged" | "refused" | "unknown";

interface Sent {
  fate: Fate;
  /** How often it was sent; more than once only for the same change. */
  tries: number;
}

/** A change of a task, with a note that no other change has. */
export interface Patch extends Sent {
  readonly note: string;
  readonly progress: number;
}

export interface TaskRecord {
  /** No other task has it. */
  readonly title: string;
  readonly account: string;
  readonly key: string;
  /** Null until it is known. */
  id: string | null;
  readonly made: Sent;
  readonly patches: Patch[];
  removed: Sent | null;
}

export interface AnswerRecord extends Sent {
  readonly answer: string;
  /** Unique; null if the way has no note. */
  readonly note: string | null;
  readonly way: string;
}

export interface QuestionRecord {
  /** No other question has it. */
  readonly prompt: string;
  readonly account: string;
  readonly key: string;
  readonly kind: "confirm" | "text";
  /** The task that it is about: if that is deleted, it is cancelled. */
  readonly task: TaskRecord | null;
  id: string | null;
  readonly made: Sent;
  readonly answers: AnswerRecord[];
  cancelled: Sent | null;
  /** When the first answer was acknowledged, by `performance.now()`. */
  answered_at: number | null;
  /** What the agent was told, null until then. */
  told: { readonly answer: string | null; readonly status: string } | null;
}

export interface MessageRecord {
  readonly text: string;
  readonly to: string;
  readonly account: string;
  readonly made: Sent;
}

/** Items of an inbox in the order in which a reader got them. */
interface InboxRecord {
  readonly key: string;
  readonly items: string[];
}

export interface StreamRecord {
  readonly account: string;
  readonly process: number;
  /** Every event after `ready`, as `name data`. */
  readonly frames: string[];
  /** Tasks as read after `ready`: id and `updated_at`; null if the list could not be read. */
  list: ReadonlyMap<string, number> | null;
  /** The number of frames when the list was asked for. */
  open: boolean;
}

interface Contradiction {
  readonly entity: string;
  readonly text: string;
}

/** Seconds after a fault in which things may still be late: a lost store is noticed within 6 (§11.4.2). */
const AFTER_FAULT = 8;

export type Model = ReturnType<typeof createModel>;

export function createModel() {
  const from = performance.now();
  const seconds = () => ((performance.now() - from) / 1000).toFixed(2);
  const histories = new Map<string, string[]>();
  const contradictions: Contradiction[] = [];
  const actions = new Map<string, number>();
  const fates: Record<Fate, number> = { acknowledged: 0, refused: 0, unknown: 0 };
  /** When faults were active, by `performance.now()`; `to` is infinite while one is. */
  const faults: { readonly from: number; to: number }[] = [];

  const note = (entity: string, text: string) => {
    const history = histories.get(entity) ?? [];
    history.push(`${seconds()} s: ${text}`);
    histories.set(entity, history);
  };

  return {
    tasks: new Map<string, TaskRecord>(),
    questions: new Map<string, QuestionRecord>(),
    messages: new Map<string, MessageRecord>(),
    inboxes: [] as InboxRecord[],
    streams: [] as StreamRecord[],
    /** Ids that no table may have once their account is deleted. */
    deleted: [] as { readonly account: string; readonly ids: readonly string[] }[],
    contradictions,
    actions,
    fates,

    note,
    historyOf: (entity: string): readonly string[] => histories.get(entity) ?? [],
    /** Counts what a client did. */
    did(action: string): void {
      actions.set(action, (actions.get(action) ?? 0) + 1);
    },
    /** What clients were told and the store, or each other, contradict. */
    contradict(entity: string, text: string): void {
      note(entity, `CONTRADICTION: ${text}`);
      contradictions.push({ entity, text });
    },
    /** The end of one request. */
    settle(sent: Sent, fate: Fate): void {
      sent.fate = fate;
      fates[fate]++;
    },

    /** Begins a fault; returns what ends it. */
    disturb(): () => void {
      const one = { from: performance.now(), to: Number.POSITIVE_INFINITY };
      faults.push(one);
      return () => {
        one.to = performance.now();
      };
    },
    /** Milliseconds between two moments without a fault, now or shortly before. */
    calmBetween(begin: number, end: number): number {
      let calm = 0;
      let at = begin;
      for (const { from, to } of faults.toSorted((a, b) => a.from - b.from)) {
        if (from > end) break;
        calm += Math.max(0, Math.min(from, end) - at);
        at = Math.max(at, to + AFTER_FAULT * 1000);
      }
      return calm + Math.max(0, end - at);
    },
  };
}

export const newSent = (): Sent => ({ fate: "unknown", tries: 0 });
