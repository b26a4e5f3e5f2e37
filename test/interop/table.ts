/** The tables of `docs/clients.md`, made from the results of `bun run interop`. */

import { CHECKS, type Client, type Outcome, type Result, type Surface } from "./client.ts";

/** A client and its results. */
export interface Entry {
  readonly client: Client;
  /** Programs that this machine lacks. */
  readonly missing: readonly string[];
  /** Null if it was skipped. */
  readonly result: Result | null;
}

const DOCUMENT = new URL("../../docs/clients.md", import.meta.url);

const outcomesOf = ({ result }: Entry): readonly Outcome[] => Object.values(result?.checks ?? {});

export const hasFault = (entry: Entry): boolean =>
  outcomesOf(entry).some((outcome) => typeof outcome === "object");

/** A Markdown table of this surface's clients; empty if there are none. */
export function renderTable(surface: Surface, entries: readonly Entry[]): string {
  const shown = entries.filter(({ client }) => client.surface === surface);
  if (shown.length === 0) return "";
  const checks: readonly string[] = CHECKS[surface];
  const rows = shown.map((entry) => {
    const { client, missing, result } = entry;
    const cells = checks.map((check) => cellOf(result?.checks[check] ?? "none"));
    const version = result?.version ?? `needs ${missing.join(", ")}`;
    const broken = result !== null && hasFault(entry) && !cells.includes("no");
    return [client.name, broken ? "failed" : version, ...cells];
  });
  const lines = [["Client", "Version", ...checks], ["", ""].concat(checks.map(() => "")), ...rows];
  return lines
    .map((cells, i) =>
      i === 1 ? `|${cells.map(() => "---|").join("")}` : `| ${cells.join(" | ")} |`,
    )
    .join("\n");
}

const cellOf = (outcome: Outcome): string =>
  outcome === "ok" ? "yes" : outcome === "none" ? "–" : "no";

/** Puts the tables between their markers in `docs/clients.md`. */
export async function writeTables(entries: readonly Entry[]): Promise<void> {
  let text = await Bun.file(DOCUMENT).text();
  for (const surface of Object.keys(CHECKS) as Surface[]) {
    const table = renderTable(surface, entries);
    const [begin, end] = [`<!-- interop ${surface} -->`, `<!-- interop ${surface} end -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (table === "" || from < 0 || to < from) continue;
    text = `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
  }
  await Bun.write(DOCUMENT, text);
}
