/** Time in the browser, as the server counts it. */

import { systemTimers } from "../client/timers.ts";

/** Seconds by which the server's clock is ahead of this machine's. */
let ahead = 0;

/** A machine whose clock is off by more seconds than this is corrected. */
const TOLERATED = 2;

/** Epoch seconds. */
export const now = (): number => Date.now() / 1000 + ahead;

/** Seconds since the page was opened, for durations: a change of the wall clock does not affect it. */
export const { elapsed } = systemTimers;

/** Takes the `Date` of an answer that just came. */
export function noteServerTime(date: string | null): void {
  const server = date === null ? Number.NaN : Date.parse(date) / 1000;
  const off = server - Date.now() / 1000;
  if (!Number.isNaN(off)) ahead = Math.abs(off) > TOLERATED ? off : 0;
}

/** By how many seconds the server was found to be ahead; 0 while it has not been asked. */
export const serverAhead = (): number => ahead;

/** Takes what was found at an earlier visit, until the server is asked. */
export function recallServerTime(seconds: number): void {
  ahead ||= seconds;
}

/** Runs once after so many seconds; the result cancels it. */
export const { after } = systemTimers;

/** Runs every so many seconds until cancelled. */
export function every(seconds: number, run: () => void): () => void {
  const timer = setInterval(run, seconds * 1000);
  return () => clearInterval(timer);
}
