/** The server's time in the browser, and timers. */

import { systemTimers } from "../client/timers.ts";

/** Seconds that the server's clock is ahead of this machine's. */
let ahead = 0;

/** Differences of up to this many seconds are ignored. */
const TOLERANCE = 2;

/** Epoch seconds by the server's clock. */
export const now = (): number => Date.now() / 1000 + ahead;

/** Epoch seconds by this machine's clock. It goes on while the machine sleeps. */
export const machineNow = (): number => Date.now() / 1000;

/**
 * Seconds since the page was opened, for durations: a change of the wall clock does not affect it.
 */
export const { elapsed } = systemTimers;

/** Sets the difference from the `Date` header of a response that just arrived. */
export function noteServerTime(date: string | null): void {
  const server = date === null ? Number.NaN : Date.parse(date) / 1000;
  const off = server - Date.now() / 1000;
  if (!Number.isNaN(off)) ahead = Math.abs(off) > TOLERANCE ? off : 0;
}

/** Seconds that the server's clock is ahead; 0 until the first response. */
export const serverAhead = (): number => ahead;

/** Uses the difference measured in an earlier visit until the server responds. */
export function recallServerTime(seconds: number): void {
  ahead ||= seconds;
}

/** Calls `run` once after `seconds`; returns a function that cancels it. */
export const { after } = systemTimers;

/** Calls `run` every `seconds` until cancelled. */
export function every(seconds: number, run: () => void): () => void {
  const timer = setInterval(run, seconds * 1000);
  return () => clearInterval(timer);
}
