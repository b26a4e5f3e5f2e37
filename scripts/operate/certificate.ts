/** Makes a certificate by the commands of docs/operating/proxies.md, for the parts that need one. */

import { join } from "node:path";
import { blocksOf } from "./document.ts";
import { run } from "./run.ts";

/** Files of a certificate authority of its own, and of a certificate by it. */
export interface Certificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Runs the commands in `folder`, for the host name `name`. Null if openssl is not installed. */
export async function makeCertificate(folder: string, name: string): Promise<Certificate | null> {
  if (!Bun.which("openssl")) return null;
  const [commands = ""] = blocksOf("proxies", "TLS without a proxy");
  const script = commands.replaceAll("relay.lan", name);
  const { code, text } = await run(["sh", "-ec", `cd ${folder}\n${script}`]);
  if (code !== 0) throw new Error(`the commands for a certificate failed: ${text}`);
  return {
    ca: join(folder, "ca.pem"),
    cert: join(folder, "tls.pem"),
    key: join(folder, "tls.key"),
  };
}
