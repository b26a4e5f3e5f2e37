/** Quiet hours by the wall clock, including the days on which clocks change (§19.1.3). */

import { expect, test } from "bun:test";
import { isQuiet } from "../../src/notify/core/prepare.ts";

const at = (utc: string) => Date.parse(`${utc}:00Z`) / 1000;

/** Minutes of the 24 hours from `utc` on that are quiet. */
function minutes(hours: { from: string; to: string; time_zone: string }, utc: string): number {
  let quiet = 0;
  for (let minute = 0; minute < 1_440; minute++) {
    if (isQuiet(hours, at(utc) + minute * 60)) quiet++;
  }
  return quiet;
}

test("quiet hours last from the first time until just before the second, also over midnight [§19.1.3]", () => {
  const berlin = { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" };
  // Summer time: two hours ahead of UTC.
  const quiet = ["19:59", "20:00", "22:00", "04:59", "05:00", "12:00"];
  expect(quiet.map((time) => isQuiet(berlin, at(`2026-07-01T${time}`)))).toEqual([
    ...[false, true, true],
    ...[true, false, false],
  ]);
  const noon = { from: "12:00", to: "13:30", time_zone: "Asia/Kolkata" };
  expect(
    ["06:29", "06:30", "07:59", "08:00"].map((t) => isQuiet(noon, at(`2026-07-01T${t}`))),
  ).toEqual([false, true, true, false]);
  expect(minutes(berlin, "2026-07-01T00:00")).toBe(9 * 60);
  const last = { from: "23:59", to: "00:00", time_zone: "UTC" };
  expect(minutes(last, "2026-07-01T00:00")).toBe(1);
});

// Zone, the UTC noon before clocks go forward and before they go back, and minutes they are set by.
const ZONES = [
  ["Europe/Berlin", "2026-03-28T12:00", "2026-10-24T12:00", 60],
  ["America/New_York", "2026-03-07T18:00", "2026-10-31T18:00", 60],
  ["Australia/Lord_Howe", "2026-10-03T03:00", "2026-04-04T03:00", 30],
] as const;

for (const [time_zone, forward, back, by] of ZONES) {
  test(`in ${time_zone} quiet hours count a skipped hour zero times and a repeated hour twice [§19.1.3]`, () => {
    const night = { from: "22:00", to: "07:00", time_zone };
    expect(minutes(night, forward)).toBe(9 * 60 - by);
    expect(minutes(night, back)).toBe(9 * 60 + by);
    // Within the hour that is skipped or comes twice.
    const change = { from: "02:00", to: by === 60 ? "03:00" : "02:30", time_zone };
    expect(minutes(change, forward)).toBe(0);
    const repeated = { from: "01:00", to: "02:00", time_zone };
    if (time_zone === "America/New_York") expect(minutes(repeated, back)).toBe(120);
    if (time_zone === "Europe/Berlin") expect(minutes(change, back)).toBe(120);
  });
}
