/** Runs generated Python clients' programs, each in its own virtual environment. */

import type { Context, Outcome } from "./client.ts";
import { checkReport } from "./report.ts";
import { readProgram } from "./typescript.ts";

/** Creates the environment with these packages. */
export async function createVenv({ exec }: Context, packages: readonly string[]): Promise<void> {
  await exec(["python3", "-m", "venv", "venv"]);
  await exec(["venv/bin/pip", "install", "-q", "--disable-pip-version-check", ...packages]);
}

/** Runs a file of `programs/` in that environment. "Compile" means that its every module can be loaded. */
export async function tryPython(
  { exec, write, url }: Context,
  program: string,
  folder: string,
): Promise<Record<string, Outcome>> {
  await write(`${folder}/flow.py`, await readProgram("flow.py"));
  await write(`${folder}/main.py`, await readProgram(program));
  const python = `${"../".repeat(folder.split("/").length)}venv/bin/python`;
  await exec([python, "-m", "compileall", "-q", "."], { cwd: folder });
  const env = { RELAY_URL: url };
  const output = await exec([python, "main.py"], { cwd: folder, env, seconds: 60 });
  return { generate: "ok", compile: "ok", ...(await checkReport(url, output)) };
}
