/** `relay doctor`: checks each hop on the way to the server, and says what to fix. */

import { jsonLine, oneLine } from "../escape.ts";
import { EXIT, type Io } from "../io.ts";
import { openSession, type Session } from "../session.ts";
import { checkChannels, checkCredential, checkEvents, checkTools, checkWait } from "./access.ts";
import type { Finding } from "./finding.ts";
import { checkAddress, checkCertificate, checkServer } from "./network.ts";

interface Options {
  readonly quick?: boolean;
  readonly json?: boolean;
}

/** Returns the exit code: 3 if a hop failed, else 0. */
export async function doctor(io: Io, { quick = false, json }: Options): Promise<number> {
  const session = await openSession(io);
  let code: number = EXIT.done;
  for await (const finding of examine(io, session, quick)) {
    io.out(json ? jsonLine(finding) : lineOf(finding));
    if (finding.status === "fail") code = EXIT.fault;
  }
  return code;
}

/** Checks hop after hop, and skips what depends on a failed hop. */
async function* examine(io: Io, session: Session, quick: boolean): AsyncGenerator<Finding, void> {
  const url = new URL(session.url);
  const address = await checkAddress(io, url);
  yield address;
  if (address.status === "fail") return;
  // The other checks also make sense with an untrusted certificate.
  if (url.protocol === "https:") yield await checkCertificate(io, url);
  const server = await checkServer(io, session);
  yield* server;
  if (server.some(({ status }) => status === "fail")) return;
  const [credential, owner] = await checkCredential(io, session);
  yield credential;
  if (owner === null) return;
  if (!quick && io.err_is_terminal) io.err("The waits take up to a minute. --quick skips them.\n");
  if (owner === "agent") {
    // The checks run side by side.
    const waits = [checkTools(io, session, quick), ...(quick ? [] : [checkWait(io, session)])];
    for (const wait of waits) yield await wait;
  } else {
    yield* checkEvents(io, session, quick);
  }
  yield* await checkChannels(io, session, owner);
}

function lineOf({ status, hop, ms, text, advice }: Finding): string {
  const time = ms === null ? "" : `${ms} ms`;
  const line = `${status.padEnd(4)}  ${hop.padEnd(11)}  ${time.padStart(8)}  ${oneLine(text)}`;
  return `${line}${advice === null ? "" : `. ${advice}`}\n`;
}
