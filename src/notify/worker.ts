/**
 * Sends what is due in one environment: claims rows by lease, renders them from the state of the
 * moment, and does what each answer asks for (docs/interface.md 14.7).
 */

import {
  type ClaimedPush,
  claimDue,
  claimedPushes,
  leasesOf,
  nextDue,
  pendingCounts,
  stampActivities,
} from "../../db/notify/queue.ts";
import type { Statement, Store } from "../../db/store.ts";
import { type Cancel, type Clock, systemClock } from "../clock.ts";
import type { Ids } from "../ids.ts";
import { PUSH } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import type { Environment, LaneHealth } from "../model/push.ts";
import { type Answer, classify, type Delay, grown } from "./channels/apns/classify.ts";
import type { Apns, PushRequest } from "./channels/apns/client.ts";
import { createLeaseWatch } from "./leases.ts";
import { prepareDelivery } from "./prepare.ts";
import { drop, forgetToken, putOff, succeed } from "./settle.ts";
import { createTokenBackoff } from "./token-backoff.ts";

interface LaneOptions {
  readonly environment: Environment;
  readonly apns: Apns;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** False: no title, prompt or note. */
  readonly full: boolean;
  /** Requests that may be under way at once. */
  readonly in_flight: number;
}

/** What the pushes of one claim have in common. */
interface Claim {
  /** Pending questions by the id of their task. */
  readonly pending: ReadonlyMap<string, number>;
  /** The end of the lease, in seconds of {@link Clock.elapsed}. */
  readonly held_until: number;
}

/** Different reasons that are counted; what comes beyond is `other`. */
const REASONS = 100;

export function createLane(options: LaneOptions) {
  const { environment, apns, store, clock, ids, log, full, in_flight } = options;
  /** Claimed rows that are not settled. */
  const flights = new Set<Promise<void>>();
  let under_way = 0;
  let next_beat: PromiseWithResolvers<void> | undefined;
  const counts: Record<string, number> = Object.create(null);
  let state: LaneHealth["state"] = "open";
  let reason: string | null = null;
  let since = clock.now();
  let pauses = 0;
  let resume: Cancel | undefined;
  let timer: Cancel | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopping = false;

  const count = (name: string) => {
    const known = name in counts || Object.keys(counts).length < REASONS;
    const slot = known ? name : "other";
    counts[slot] = (counts[slot] ?? 0) + 1;
  };

  const become = (next: LaneHealth["state"], why: string | null) => {
    state = next;
    reason = why;
    since = clock.now();
  };

  const secondsOf = ({ least, spread }: Delay) => least + ids.jitter() * spread;
  /** The stamp at the end of a delay. */
  const after = (delay: Delay) => clock.now() + secondsOf(delay);
  const holds = createTokenBackoff((delay) => clock.elapsed() + secondsOf(delay));
  /** The stamp of a moment of {@link Clock.elapsed}. */
  const stampOf = (elapsed: number) => clock.now() + elapsed - clock.elapsed();

  const leases = createLeaseWatch(clock);
  /** Leases that are over, as of the last look at them, and when the next look is due. */
  let lapsed: readonly string[] = [];
  let next_look = clock.elapsed();

  const stopLane = (why: string) => {
    if (state === "stopped") return;
    resume?.();
    become("stopped", why);
    log.error("push lane stopped", { environment, reason: why });
  };

  const pauseLane = (why: string, least: number, base: number) => {
    if (state !== "open") return;
    const spread = base === 0 ? 0 : grown(base, ++pauses, base * PUSH.pause_growth);
    become("paused", why);
    log.warn("push lane paused", { environment, reason: why });
    resume = clock.after(Math.max(0.001, secondsOf({ least, spread })), () => {
      become("open", null);
      run();
    });
  };

  /** Resolves a moment later, for all that wait: their writes and the next claim share a commit. */
  const beat = (): Promise<void> => {
    // At a stop nothing else may keep the process alive until then.
    if (stopping) return Promise.resolve();
    if (!next_beat) {
      next_beat = Promise.withResolvers();
      systemClock.after(PUSH.beat, strike);
    }
    return next_beat.promise;
  };

  const strike = () => {
    next_beat?.resolve();
    next_beat = undefined;
    run();
  };

  /** Does it again while the store is away, until a moment of {@link Clock.elapsed} or a stop. */
  const patiently = async <T>(attempt: () => Promise<T>, until: number): Promise<T> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (stopping || clock.elapsed() + PUSH.poll_every >= until) throw error;
        log.warn("pushes wait for the store", describeError(error));
        await new Promise<void>((next) => clock.after(PUSH.poll_every, next));
      }
    }
  };

  /** Ends one round of a claimed row, while its lease lasts: until a moment of `elapsed`. */
  const settle = async (until: number, statements: readonly Statement[]): Promise<void> => {
    await beat();
    // Then the lease runs out, and the row is sent once more.
    await patiently(() => store.write(statements), until).catch((error: unknown) =>
      log.warn("push not settled", describeError(error)),
    );
  };

  const note = (event: string, { push }: ClaimedPush, why: string) => {
    const { kind, device_id, apns_id } = push;
    log.warn(event, { environment, kind, device_id, apns_id, reason: why });
  };

  /** What the answer asks for, as the statements that end this round. */
  const obey = (
    claimed: ClaimedPush,
    { token, turn }: { token: string; turn: number },
    answer: Answer,
  ): Statement[] => {
    const verdict = classify(answer, claimed.push);
    const reason =
      answer.kind === "ok" ? "ok" : answer.kind === "lost" ? answer.code : answer.reason;
    const maybe = answer.kind === "lost" && answer.fate === "unclear" ? token : null;
    const now = clock.now();
    count(reason);
    switch (verdict.do) {
      case "finish":
        pauses = 0;
        holds.release(token, turn);
        return succeed({ claimed, now }, token);
      case "forget_token":
        return forgetToken(
          { claimed, now },
          { token, since: verdict.since, later: after(verdict.delay), reason },
        );
      case "drop":
        note(verdict.fault ? "push configuration at fault" : "push refused", claimed, reason);
        return drop({ claimed, now, outcome: "refused", reason });
      case "give_up":
        return drop({ claimed, now, outcome: "unclear", reason });
      case "hold_token":
        return putOff({
          claimed,
          now,
          due_at: stampOf(holds.hold(token, verdict.least, turn)),
        });
      case "again":
        return putOff({ claimed, now, due_at: after(verdict.delay), unclear: maybe });
      case "pause_lane":
        pauseLane(reason, verdict.least, verdict.base);
        return putOff({ claimed, now, due_at: now });
      case "stop_lane":
        stopLane(reason);
        return putOff({ claimed, now, due_at: now });
      case "renew":
        // The newest token counts as expired too, and another one must wait.
        pauseLane(reason, Math.max(1, apns.provider.renewableIn()), 0);
        return putOff({ claimed, now, due_at: now });
    }
  };

  const fly = async (claimed: ClaimedPush, { pending, held_until }: Claim) => {
    const now = clock.now();
    const assessment = prepareDelivery(claimed, { now, pending, full });
    if (assessment.is === "elsewhere") {
      const { environment } = assessment;
      return settle(held_until, putOff({ claimed, now, due_at: now, tried: false, environment }));
    }
    if (assessment.is !== "ready") {
      const { is: outcome } = assessment;
      const tried = outcome === "unclear";
      return settle(held_until, drop({ claimed, now, outcome, reason: null, tried }));
    }
    const { token, rendered } = assessment;
    const held_for = holds.until(token) - clock.elapsed();
    if (held_for >= 0.001 || state !== "open") {
      const due_at = now + Math.max(0, held_for);
      return settle(held_until, putOff({ claimed, now, due_at, tried: false }));
    }
    const request = { ...rendered, token, apns_id: claimed.push.apns_id };
    const turn = holds.turn();
    under_way++;
    const answer = await send(request, claimed).finally(() => under_way--);
    return settle(held_until, obey(claimed, { token, turn }, answer));
  };

  /** IdempotentRequest more with another provider token, where that one is said to be expired. */
  const send = async (request: PushRequest, { push }: ClaimedPush): Promise<Answer> => {
    const answer = await apns.send(request);
    const verdict = classify(answer, push);
    if (verdict.do !== "renew" || !apns.provider.renew(verdict.provider_token)) return answer;
    count("ExpiredProviderToken");
    return apns.send(request);
  };

  const launch = (claimed: ClaimedPush, claim: Claim) => {
    const flight = fly(claimed, claim)
      .catch((error: unknown) => log.error("push failed", describeError(error)))
      .finally(() => {
        flights.delete(flight);
        run();
      });
    flights.add(flight);
  };

  const claim = async (limit: number): Promise<number> => {
    const lease = ids.stamp();
    const now = clock.now();
    const from = clock.elapsed();
    const names = JSON.stringify(lapsed);
    const values = { lease, environment, now, until: now + PUSH.lease, limit, lapsed: names };
    // A start whose lease runs out is never sent, so the rows are looked for also when nobody knows
    // whether they were claimed.
    let failure: unknown;
    await store.write([claimDue(values), stampActivities(values)]).catch((error: unknown) => {
      failure = error ?? "unknown";
    });
    // So that the lease lasts for a request and its repetition.
    const held_until = from + PUSH.lease;
    const read_until = failure ? from : held_until - 2 * PUSH.time_limit;
    const claimed = await patiently(() => store.read(claimedPushes(values)), read_until);
    if (failure && claimed.length === 0) throw failure;
    const shown = claimed.filter(({ push }) => ["start", "update", "end"].includes(push.kind));
    const ids_shown = JSON.stringify(shown.map(({ push }) => push.task_id));
    const count_pending = () => store.read(pendingCounts({ ids: ids_shown, now: clock.now() }));
    const counted = shown.length > 0 ? await patiently(count_pending, read_until) : [];
    const pending = new Map(counted as [string, number][]);
    for (const [i, one] of claimed.entries()) {
      launch(one, { pending, held_until });
      // A request takes its time to make: others get their turn between a few.
      if (i % PUSH.launch === PUSH.launch - 1) await new Promise((next) => setImmediate(next));
    }
    if (claimed.length < limit) lapsed = [];
    return claimed.length;
  };

  /** What a process that was killed had claimed shows in nothing but its leases. */
  const lookAtLeases = async () => {
    const rows = await store.read(leasesOf({ environment, now: clock.now(), limit: PUSH.leases }));
    // The moment after the read: a lease must not seem older than it is.
    next_look = clock.elapsed() + PUSH.poll_every;
    lapsed = leases.lapsed(rows.map(([lease]) => lease as string));
  };

  const arm = (seconds: number) => {
    timer?.();
    timer = clock.after(Math.max(0.001, seconds), run);
  };

  const pass = async () => {
    for (;;) {
      again = false;
      const room = in_flight - under_way;
      // What is under way calls again when it ends, and a pause when it is over.
      if (stopping || state !== "open" || room <= 0) return;
      if (clock.elapsed() >= next_look) await lookAtLeases();
      const [row] = await store.read(nextDue({ environment }));
      const due = row?.[0] === null || row === undefined ? null : (row[0] as number) / 1000;
      const now = clock.now();
      const nothing = (due === null || due > now) && lapsed.length === 0;
      if (nothing || (await claim(Math.min(room, PUSH.claim))) === 0) {
        if (again) continue;
        arm(due !== null && due > now ? Math.min(PUSH.poll_every, due - now) : PUSH.poll_every);
        return;
      }
    }
  };

  function run(): void {
    if (stopping) return;
    again = true;
    running ??= pass()
      .catch((error: unknown) => {
        log.warn("pushes not claimed", describeError(error));
        arm(PUSH.poll_every);
      })
      .finally(() => {
        running = undefined;
        if (again) run();
      });
  }

  return {
    /** Something may have fallen due. */
    run,

    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      while (running || flights.size > 0) await Promise.all([running, ...flights]);
    },

    /** Finishes what is under way, for some seconds at most, and gives the leases back. */
    async stop(): Promise<void> {
      stopping = true;
      timer?.();
      resume?.();
      strike();
      const cut = systemClock.after(PUSH.stop_wait, apns.abort);
      while (running || flights.size > 0) await Promise.all([running, ...flights]);
      cut();
    },

    health: (): LaneHealth => ({
      environment,
      state,
      reason,
      since,
      in_flight: under_way,
      counts: { ...counts },
    }),
  };
}
