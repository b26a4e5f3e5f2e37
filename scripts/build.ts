/** `bun run build [file]`: builds the executable for this machine, by default `dist/relay`. */

import { resolve } from "node:path";
import { compileAll } from "./build/compile.ts";
import { ownTarget } from "./build/targets.ts";

const target = ownTarget();
const suffix = target.name.startsWith("windows") ? ".exe" : "";
const outfile = resolve(process.argv[2] ?? `dist/relay${suffix}`);
await compileAll([{ target, parts: { native: `${target.native}/index.node` }, outfile }]);
process.stdout.write(`${outfile}\n`);
