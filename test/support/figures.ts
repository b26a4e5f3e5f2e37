/** Measurements that the log of a run shows, though the tests that made them passed. */

import { appendFileSync } from "node:fs";

const { RELAY_TEST_FIGURES: file } = process.env;

/** Prints one line. In the suite, which shows no output of tests that pass, the line comes with its report. */
export function printFigures(line: string): void {
  if (file) appendFileSync(file, `${line}\n`);
  else process.stdout.write(`${line}\n`);
}
