/** Compiles and runs generated TypeScript clients' programs. */

import type { Context, Outcome, Result } from "./client.ts";
import { checkReport } from "./report.ts";

const TYPESCRIPT = "5.9.3";

interface Options {
  /** npm packages with their versions. */
  readonly packages: readonly string[];
  readonly version: string;
  /** The file of `programs/` that uses the generated code. */
  readonly program: string;
  /** Generates the client in the folder, once the packages are installed. */
  generate(): Promise<unknown>;
}

/** The text of a file of `programs/`. */
export const readProgram = (name: string): Promise<string> =>
  Bun.file(new URL(`programs/${name}`, import.meta.url)).text();

/** Generates, compiles under `strict` and runs a client. */
export async function tryTypescript(context: Context, options: Options): Promise<Result> {
  const { exec, write, url } = context;
  await write("package.json", '{ "type": "module" }');
  const packages = [...options.packages, `typescript@${TYPESCRIPT}`, "@types/node@20"];
  await exec(["npm", "install", "--no-audit", "--no-fund", ...packages]);
  await options.generate();
  await write("flow.ts", await readProgram("flow.ts"));
  await write("main.ts", await readProgram(options.program));
  const checks: Record<string, Outcome> = { generate: "ok" };
  const flags = "--noEmit --strict --skipLibCheck --allowImportingTsExtensions --target es2022";
  const modules =
    "--module esnext --moduleResolution bundler --lib es2023,dom,dom.iterable,dom.asynciterable";
  await exec(["npx", "tsc", ...flags.split(" "), ...modules.split(" "), "main.ts"]);
  checks.compile = "ok";
  const env = { RELAY_URL: url };
  const output = await exec([process.execPath, "main.ts"], { env, seconds: 60 });
  return { version: options.version, checks: { ...checks, ...(await checkReport(url, output)) } };
}
