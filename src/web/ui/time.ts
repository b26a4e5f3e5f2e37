/**
 * Formats times and durations: words in English, dates and times of day by the browser's locale.
 * Times are epoch seconds.
 */

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

/** Relative time such as `5 min. ago`; the date after a week. */
export function ago(at: number, now: number): string {
  const passed = Math.max(0, now - at);
  if (passed < 45) return "just now";
  if (passed > 7 * 86_400) return date.format(at * 1000);
  for (const [unit, seconds] of UNITS) {
    if (passed >= seconds) return relative.format(-Math.floor(passed / seconds), unit);
  }
  return relative.format(-1, "minute");
}

/** Remaining time, such as `1:05`, `2 h 10 min` or `3 d 4 h`. */
export function timeLeft(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
  if (s >= 3_600) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

/** Hours and minutes. */
export const timeOf = (at: number): string => clock.format(at * 1000);

/** Hours and minutes, with the date if it is not today. */
export function momentOf(at: number, now: number): string {
  const time = timeOf(at);
  const day = date.format(at * 1000);
  return day === date.format(now * 1000) ? time : `${time}, ${day}`;
}

export const dayOf = (at: number): string => date.format(at * 1000);

const precise = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Hours, minutes and seconds. */
export const timeWithSeconds = (at: number): string => precise.format(at * 1000);

/** Weekday, date and time, to the second. */
export const fullTime = (at: number): string => full.format(at * 1000);

/** Formats a duration in milliseconds. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
