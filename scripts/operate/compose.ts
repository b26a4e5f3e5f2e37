/** The compose file of docs/compose: a compose program reads it with each profile. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";

const FILE = new URL("../../docs/compose/compose.yaml", import.meta.url).pathname;
/** `.env` of each way to run it, and the services that it starts. */
const WAYS = [
  { env: "", services: ["relay"] },
  {
    env: "COMPOSE_PROFILES=caddy\nPUBLIC_URL=https://relay.example\nTRUST_PROXY=1\n",
    services: ["caddy", "relay"],
  },
  {
    env: "COMPOSE_PROFILES=sqld\nDATABASE_URL=http://sqld:8080\n",
    services: ["relay", "sqld"],
  },
] as const;

/** Prints what was found. Returns false if the file is not valid. */
export async function compose(print: (line: string) => void): Promise<boolean> {
  const candidates = [["docker", "compose"], ["docker-compose"]].filter(([name]) =>
    Bun.which(name!),
  );
  for (const program of candidates) {
    const { code, text } = await run([...program, "version", "--short"]);
    // The first version knows an older form of the file.
    if (code === 0 && !text.startsWith("1.")) return checkWays(program, print);
  }
  const reader = process.env.COMPOSE_SPEC;
  if (reader === undefined) {
    print(
      "compose file: not tried, since there is no docker compose (COMPOSE_SPEC names the program of compose-go/v2/cmd)",
    );
    return true;
  }
  const { code, text } = await run([reader, FILE]);
  const found = code === 0 ? "is valid" : text;
  print(`compose file: ${found}; the containers were not run, since there is no docker compose`);
  return code === 0;
}

async function checkWays(
  program: readonly string[],
  print: (line: string) => void,
): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  try {
    let good = true;
    for (const { env, services } of WAYS) {
      const path = join(folder, ".env");
      writeFileSync(path, env);
      const { code, text } = await run([
        ...program,
        ...["--env-file", path, "--file", FILE, "config", "--services"],
      ]);
      const found = text.split("\n").sort();
      good &&= code === 0 && Bun.deepEquals(found, [...services]);
      print(`compose file: ${code === 0 ? `starts ${found.join(", ")}` : text}`);
    }
    return good;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
