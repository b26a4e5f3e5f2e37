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

/** Returns the exit code: 3 if a hop failed, else 0. Skips the checks that depend on a failed hop. */
export async function doctor(io: Io, { quick = false, json }: Options): Promise<number> {
  const session = await openSession(io);
  let code: number = EXIT.done;
  const report = (findings: readonly Finding[]): boolean => {
    for (const finding of findings) {
      io.out(json ? jsonLine(finding) : lineOf(finding));
      if (finding.status === "fail") code = EXIT.fault;
    }
    return findings.every(({ status }) => status !== "fail");
  };
  await examine(io, session, quick, report);
  return code;
}

async function examine(
  io: Io,
  session: Session,
  quick: boolean,
  report: (findings: readonly Finding[]) => boolean,
): Promise<void> {
  const address = new URL(session.url);
  if (!report([await checkAddress(io, address)])) return;
  // An untrusted certificate does not end the examination.
  if (address.protocol === "https:") report([await checkCertificate(io, address)]);
  if (!report(await checkServer(io, session))) return;
  const [credential, owner] = await checkCredential(io, session);
  report([credential]);
  if (owner === null) return;
  if (!quick && io.err_is_terminal) io.err("The waits take up to a minute. --quick skips them.\n");
  if (owner === "agent") {
    // The checks run side by side.
    const waits = [checkTools(io, session, quick), ...(quick ? [] : [checkWait(io, session)])];
    for (const wait of waits) report([await wait]);
  } else {
    for await (const finding of checkEvents(io, session, quick)) report([finding]);
  }
  report(await checkChannels(io, session, owner));
}

function lineOf({ status, hop, ms, text, advice }: Finding): string {
  const time = ms === null ? "" : `${ms} ms`;
  const line = `${status.padEnd(4)}  ${hop.padEnd(11)}  ${time.padStart(8)}  ${oneLine(text)}`;
  return `${line}${advice === null ? "" : `. ${advice}`}\n`;
}
