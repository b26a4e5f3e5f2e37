/**
 * Encryption at rest, as docs/operating/store.md describes it: a store with data is encrypted, gets another key, and is
 * decrypted, by the commands of the document, each after a kill of Relay.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { post, startRelay, stopAll } from "../../bench/process.ts";
import { blocksOf } from "./document.ts";
import { run } from "./run.ts";

const SECTION = "Encryption at rest";
const RELAY = `${process.execPath} ${fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))}`;

/** The command that makes a key, and those that change it. */
function recipe(): { readonly make: string; readonly changes: readonly string[] } {
  const [first = "", second = ""] = blocksOf("store", SECTION, "sh");
  const changes = second.split("\n").filter((line) => line.includes("relay rekey"));
  const make = first.split("\n")[0] ?? "";
  if (!make.includes("openssl") || changes.length !== 3) {
    throw new Error(`docs/operating/store.md has other commands in "${SECTION}"`);
  }
  return { make, changes };
}

/** Prints what was found. Returns false if a step fails. */
export async function encryption(print: (line: string) => void): Promise<boolean> {
  if (!Bun.which("openssl")) {
    print("Encryption: not tried, since openssl is not installed");
    return true;
  }
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  try {
    mkdirSync(join(folder, "data"));
    const store = join(folder, "data", "relay.db");
    const { make, changes } = recipe();
    const sh = async (line: string) => {
      const command = line.replace(/\brelay rekey\b/, `${RELAY} rekey`);
      const { code, text } = await run(["sh", "-c", `cd ${folder} && ${command}`]);
      if (code !== 0) throw new Error(`${line}: ${text}`);
    };
    for (const name of ["relay.key", "relay-2.key"]) await sh(make.replace("relay.key", name));
    const serve = (key: string | undefined) =>
      startRelay(folder, children, {
        env: {
          DATABASE_URL: `file:${store}`,
          ...(key !== undefined && { DATABASE_ENCRYPTION_KEY_FILE: join(folder, key) }),
        },
      });
    const kill = async () => {
      children.at(-1)!.kill("SIGKILL");
      await children.at(-1)!.exited;
    };
    const { port } = await serve(undefined);
    const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "A" }, token);
    const { id } = await post<{ id: string }>(port, "/v1/tasks", { title: "planted" }, secret);
    await kill();
    const wrong: string[] = [];
    for (const [i, key] of ["relay.key", "relay-2.key", undefined].entries()) {
      await sh(changes[i]!);
      rmSync(`${store}.before-rekey`);
      if (readFileSync(store).includes("planted") !== (key === undefined)) wrong.push(changes[i]!);
      const relay = await serve(key);
      const { status } = await fetch(`http://127.0.0.1:${relay.port}/v1/tasks/${id}`, {
        headers: { authorization: `Bearer ${secret}` },
        signal: AbortSignal.timeout(30_000),
      });
      if (status !== 200) wrong.push(changes[i]!);
      await kill();
    }
    print(
      `Encryption: ${changes.length - wrong.length} of ${changes.length} changes of the key kept the data and hid it while there was a key`,
    );
    for (const line of wrong) print(`  failed: ${line}`);
    return wrong.length === 0;
  } finally {
    await stopAll(children, folder);
  }
}
