/** TLS without a proxy, as docs/operating/proxies.md describes it: Relay serves a certificate that its commands make. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAll } from "../../bench/process.ts";
import { freePort } from "../../test/support/sqld.ts";
import { makeCertificate } from "./certificate.ts";
import { curl, untilFrontAnswers } from "./front-checks.ts";
import { spawnRelay } from "./relay.ts";

const NAME = "relay.lan";
/** Milliseconds in which a start with the wrong key must end. */
const REFUSES_WITHIN = 60_000;

/** Prints what was found. Returns false if the recipe does not work. */
export async function tls(print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  try {
    const files = Bun.which("curl") && (await makeCertificate(folder, NAME));
    if (!files) {
      print("TLS without a proxy: not tried, since openssl or curl is not installed");
      return true;
    }
    const port = freePort();
    const url = `https://${NAME}:${port}`;
    const start = (key: string) =>
      spawnRelay(folder, children, {
        ...{ PORT: String(port), PUBLIC_URL: url, TLS_CERT_FILE: files.cert, TLS_KEY_FILE: key },
        LOG_LEVEL: "info",
      });
    // The key of another certificate.
    const wrong = start(join(folder, "ca.key"));
    const late = setTimeout(() => wrong.kill("SIGKILL"), REFUSES_WITHIN);
    const said = await new Response(wrong.stderr).text();
    clearTimeout(late);
    const refused = (await wrong.exited) === 1 && said.includes("TLS_KEY_FILE");

    const front = { url, ca: files.ca };
    await untilFrontAnswers(front, start(files.key));
    const page = await curl(front, "/");
    const sends_hsts = /^strict-transport-security:/im.test(page.head);
    const plain = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
    const good = refused && page.status === 200 && sends_hsts && !plain?.ok;
    print(
      `TLS without a proxy: the page ${page.status === 200 ? "is" : "IS NOT"} served with a certificate by an own authority, ${sends_hsts ? "with" : "WITHOUT"} HSTS, ${plain?.ok ? "AND ALSO" : "not"} over http; a key of another certificate is ${refused ? "refused" : `NOT REFUSED: ${said}`}`,
    );
    return good;
  } finally {
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}
