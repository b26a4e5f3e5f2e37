/** `relay why`: what became of a question, told to the administrator of a server. */

import { withSecretFiles } from "../config-files.ts";
import type { QuestionReport } from "../model/question-report.ts";
import { baseOf, fetchServer } from "./base.ts";
import { jsonLine, oneLine } from "./escape.ts";
import { Fault, type Io } from "./io.ts";

interface WhyOptions {
  readonly url?: string;
  readonly json?: boolean;
}

const timeOf = (at: number): string => new Date(at * 1000).toISOString().replace(/\.\d+Z$/, "Z");

/** Prints the report on the question (§4.3.3). Throws a {@link Fault} if there is none, or the token is wrong. */
export async function why(io: Io, question_id: string, { url, json }: WhyOptions): Promise<void> {
  const report = await readReport(io, question_id, url);
  if (json) {
    io.out(jsonLine(report));
    return;
  }
  for (const { at, text } of report.history) io.out(`${timeOf(at)}  ${oneLine(text)}\n`);
  for (const text of report.now) io.out(`${"now".padEnd(20)}  ${oneLine(text)}\n`);
  io.out(`\n${oneLine(report.conclusion)}\n`);
}

async function readReport(io: Io, id: string, given?: string): Promise<QuestionReport> {
  // The variables of the server, so that no command line has the token.
  const { ADMIN_TOKEN, ADMIN_TOKEN_FILE } = io.env;
  const { ADMIN_TOKEN: token } = await withSecretFiles({ ADMIN_TOKEN, ADMIN_TOKEN_FILE }).catch(
    (error: unknown) => {
      throw new Fault((error as Error).message);
    },
  );
  if (!token) throw new Fault("set ADMIN_TOKEN or ADMIN_TOKEN_FILE, as for the server");
  const here = `http://127.0.0.1:${io.env.PORT || 3000}`;
  const url = given
    ? baseOf(given)
    : io.env.RELAY_URL
      ? baseOf(io.env.RELAY_URL, "RELAY_URL")
      : here;
  const input = encodeURIComponent(JSON.stringify({ question_id: id }));
  const response = await fetchServer(`${url}/admin/trpc/question?input=${input}`, {
    headers: { authorization: `Bearer ${token}` },
    // The token is for this address alone.
    redirect: "manual",
    signal: io.signal,
  }).catch((error: unknown) => {
    if (io.signal.aborted) throw error;
    throw new Fault(`${url} does not answer: check that it runs, and run relay health ${url}`);
  });
  const body = (await response.json().catch(() => ({}))) as Answer;
  if (body.result) return body.result.data;
  const code = body.code ?? body.error?.data?.code_name ?? "";
  throw new Fault(FAULTS[code]?.(url) ?? `${url} answered with ${response.status}`);
}

/** The answer of a tRPC procedure, or a problem (§9.1). */
interface Answer {
  readonly code?: string;
  readonly result?: { readonly data: QuestionReport };
  readonly error?: { readonly data?: { readonly code_name?: string } };
}

const FAULTS: Readonly<Record<string, (url: string) => string>> = {
  not_found: () => "there is no such question: check the id; old questions are deleted",
  unauthorized: (url) => `ADMIN_TOKEN is not that of ${url}`,
  unknown_path: (url) => `${url} has no ADMIN_TOKEN, or is older than this command`,
  rate_limited: () => "too many refused requests came from this address: try again in a minute",
  invalid_fields: () => "that is not the id of a question",
};
