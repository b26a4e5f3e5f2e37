/** Runs `relay why` of docs/operating/watching.md for a question that can reach nobody, and reads its conclusion. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post, startRelay, stopAll } from "../../bench/process.ts";

const EXPECTED = "the account has no notification channel; no open page got it.";
/** Milliseconds that the command may take. */
const WITHIN = 30_000;

/** Returns false if the command does not say why. */
export async function why(print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-why-"));
  const children: Bun.Subprocess[] = [];
  try {
    const token_file = join(folder, "admin-token");
    writeFileSync(token_file, "x".repeat(40), { mode: 0o600 });
    const { port } = await startRelay(folder, children, { env: { ADMIN_TOKEN_FILE: token_file } });
    const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "A" }, token);
    const { id } = await post<{ id: string }>(port, "/v1/questions", { prompt: "Go?" }, secret);
    const command = Bun.spawn([process.execPath, "src/cli/main.ts", "why", id], {
      cwd: new URL("../../", import.meta.url).pathname,
      env: { PATH: process.env.PATH, PORT: String(port), ADMIN_TOKEN_FILE: token_file },
      stdio: ["ignore", "pipe", "inherit"],
      timeout: WITHIN,
    });
    const said = (await new Response(command.stdout).text()).trimEnd();
    const good = (await command.exited) === 0 && said.endsWith(EXPECTED);
    print(`relay why: ${good ? "says" : "does not say"} why a question reached nobody`);
    return good;
  } finally {
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}
