/** The state of a lane: open, paused for a while, or stopped until a restart or a new time of the machine (§14.7). */

import type { Cancel, Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { LaneHealth } from "../../model/notification.ts";
import { createOutage } from "../../observability/outages.ts";
import { HOLD_BACKOFF_MOST } from "./address-holds.ts";
import { type Delay, exponentialDelay } from "./channel.ts";

/** A pause of a lane grows up to this multiple of its first length, but to no more than a hold of an address. */
const PAUSE_GROWTH = 60;
/** Seconds by which the machine's clock must be set for a stopped lane to try again, and between two looks at it. */
const CLOCK_SET = 60;
const LOOK_EVERY = 10;

interface LaneStateOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Fields that name the lane in log lines. */
  readonly named: Pick<LaneHealth, "channel" | "lane">;
  readonly secondsOf: (delay: Delay) => number;
  /** Called when a pause is over. */
  readonly resumed: () => void;
}

export function createLaneState({ clock, log, named, secondsOf, resumed }: LaneStateOptions) {
  let health: Pick<LaneHealth, "state" | "reason" | "since"> = {
    state: "open",
    reason: null,
    since: clock.now(),
  };
  const outage = createOutage({ clock, log, over: "lane works again", named });
  let pauses = 0;
  let resume: Cancel | undefined;

  const become = (state: LaneHealth["state"], reason: string | null) => {
    health = { state, reason, since: clock.now() };
  };

  return {
    isOpen: () => health.state === "open",
    health: () => health,

    /** Stops the lane. It opens again if the clock is set: a service refuses credentials that a wrong clock has dated. */
    stop(reason: string): void {
      if (health.state === "stopped") return;
      resume?.();
      become("stopped", reason);
      log.error("lane stopped", { ...named, reason });
      const started = () => clock.wall() - clock.elapsed();
      const then = started();
      const look = () => {
        resume = clock.after(LOOK_EVERY, () => {
          if (Math.abs(started() - then) <= CLOCK_SET) return look();
          log.warn("lane tries again", { ...named, reason: "clock_set" });
          become("open", null);
          resumed();
        });
      };
      look();
    },

    /**
     * Pauses an open lane for `least` seconds plus a random part: up to `base` seconds at first, and more
     * with each pause; none if `base` is 0.
     */
    pause(reason: string, least: number, base: number): void {
      if (health.state !== "open") return;
      const most = Math.min(base * PAUSE_GROWTH, HOLD_BACKOFF_MOST);
      const spread = base === 0 ? 0 : exponentialDelay(base, ++pauses, most);
      become("paused", reason);
      outage.note("lane paused", { reason });
      resume = clock.after(Math.max(0.001, secondsOf({ least, spread })), () => {
        become("open", null);
        resumed();
      });
    },

    /** The service accepted a request: the next pause is short again. */
    works(): void {
      pauses = 0;
      outage.works();
    },

    /** Cancels the timer of a pause. */
    close: (): void => resume?.(),
  };
}
