/**
 * `bun run operate`: runs the recipes of docs/operating on this machine, and says what could not be tried. Exits with
 * 1 if one of them fails.
 */

import { chmodSync } from "node:fs";
import { createPlace, type Place } from "../bench/place.ts";
import { backups } from "./operate/backups.ts";
import { compose } from "./operate/compose.ts";
import { container } from "./operate/container.ts";
import { encryption } from "./operate/encryption.ts";
import { fronts } from "./operate/fronts.ts";
import { hangingDisk } from "./operate/hanging-disk.ts";
import { litestream } from "./operate/litestream.ts";
import { monitoring } from "./operate/monitoring.ts";
import { rollingRestart } from "./operate/rolling-restart.ts";
import { systemdUnit } from "./operate/systemd.ts";
import { tls } from "./operate/tls.ts";
import { tunnels } from "./operate/tunnels.ts";
import { why } from "./operate/why.ts";

const print = (line: string) => process.stdout.write(`${line}\n`);

const RECIPES: readonly ((line: typeof print, place: Place) => Promise<boolean>)[] = [
  ...[compose, container, systemdUnit, encryption, litestream, monitoring, why],
  ...[tls, fronts, tunnels],
  // The longest.
  backups,
  hangingDisk,
  rollingRestart,
];

// The recipes make their folders in it, so that an interrupted run leaves nothing.
const place = createPlace("relay-operate");
process.env.TMPDIR = place.folder;
// nginx reads a file of a recipe as another user.
chmodSync(place.folder, 0o711);
try {
  for (const recipe of RECIPES) {
    if (!(await recipe(print, place))) process.exitCode = 1;
  }
} finally {
  await place.end();
}
