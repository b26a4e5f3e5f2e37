/**
 * `bun run operate`: runs the recipes of docs/operating.md on this machine, and says what could not be tried. Exits with
 * 1 if one of them fails.
 */

import { rollingRestart } from "./operate/rolling-restart.ts";

const print = (line: string) => process.stdout.write(`${line}\n`);

if (!(await rollingRestart(print))) process.exitCode = 1;
