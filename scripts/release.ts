/** `bun run release [platform…]`: packs the executables into archives with checksums, in `dist/release`. */

import { createHash } from "node:crypto";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { createPlace } from "../bench/place.ts";
import { VERSION } from "../src/version.ts";
import { compileAll } from "./build/compile.ts";
import { fetchParts } from "./build/parts.ts";
import { TARGETS, type Target } from "./build/targets.ts";

const ROOT = resolve(import.meta.dir, "..");
/** Milliseconds for one archive. */
const PACK_WITHIN = 300_000;
const RELEASE = join(ROOT, "dist/release");

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !TARGETS.some((target) => target.name === name));
if (unknown.length > 0) {
  const names = TARGETS.map(({ name }) => name).join(", ");
  process.stderr.write(`release: no such platform: ${unknown.join(", ")}. There are ${names}\n`);
  process.exit(1);
}
const targets = TARGETS.filter(({ name }) => chosen.length === 0 || chosen.includes(name));

/** Packs the folder `<name>` of `parent`. Windows unpacks `.tar.gz` too. */
async function pack(parent: string, name: string): Promise<string> {
  const path = join(RELEASE, `${name}.tar.gz`);
  const tar = Bun.spawn(["tar", "-czf", path, "-C", parent, name], {
    stderr: "inherit",
    timeout: PACK_WITHIN,
  });
  if ((await tar.exited) !== 0) throw new Error(`${name} could not be packed`);
  return path;
}

async function checksum(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}

const place = createPlace("relay-release");
const { folder } = place;
try {
  const partsOf = await fetchParts(targets, join(folder, "parts"));
  const nameOf = ({ name }: Target) => `relay-${VERSION}-${name}`;
  const jobs = targets.map((target) => {
    const program = target.name.startsWith("windows") ? "relay.exe" : "relay";
    return { target, parts: partsOf(target), outfile: join(folder, nameOf(target), program) };
  });
  await compileAll(jobs);
  await rm(RELEASE, { recursive: true, force: true });
  await mkdir(RELEASE, { recursive: true });
  let sums = "";
  for (const { target } of jobs) {
    const name = nameOf(target);
    for (const file of ["LICENSE", "README.md"]) {
      await cp(join(ROOT, file), join(folder, name, file));
    }
    const path = await pack(folder, name);
    sums += `${await checksum(path)}  ${basename(path)}\n`;
    process.stdout.write(`${path}\n`);
  }
  // The format of `sha256sum --check`.
  await writeFile(join(RELEASE, "SHA256SUMS"), sums);
} finally {
  await place.end();
}
