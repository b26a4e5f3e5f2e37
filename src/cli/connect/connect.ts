/** `relay connect` and `relay disconnect`: one entry in the configuration of an MCP client. */

import { baseOf } from "../base.ts";
import { jsonLine, oneLine } from "../escape.ts";
import { EXIT, Fault, type Io } from "../io.ts";
import { readAccess } from "../settings.ts";
import { type Change, connectText, disconnectText } from "./change.ts";
import {
  APPROVING,
  type ClientName,
  type Piece,
  type Place,
  placesOf,
  setUpOf,
} from "./clients.ts";
import { diffOf } from "./diff.ts";
import { dropCopy, keepCopy, readCopy, readSnapshot, replaceFile, type Snapshot } from "./files.ts";
import { Refusal, valueAt } from "./format.ts";
import { checkOwner } from "./owner.ts";

interface Options {
  readonly url?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}
interface ConnectOptions extends Options {
  readonly approve?: boolean;
  readonly print?: boolean;
}

/** A file with its planned change. */
interface Step {
  readonly place: Place;
  readonly snapshot: Snapshot;
  readonly change: Change;
}

/** Adds the entry. Returns the exit code: 0 done, 1 the person declined, 3 a file was left alone. */
export async function connect(
  io: Io,
  client: ClientName,
  options: ConnectOptions,
): Promise<number> {
  const approve = options.approve === true;
  if (approve && !APPROVING.includes(client)) {
    throw new Fault(`--approve is for ${APPROVING.join(" and ")}`);
  }
  const { places, next } = setUpOf(client, io, await addressOf(io, options), approve);
  const advice = next.map((line) => `${line}.\n`).join("");
  if (options.print) {
    io.out(pasteTexts(places));
    io.err(advice);
    return EXIT.done;
  }
  const plan = ({ format, pieces, is_replaced }: Place, { text }: Snapshot) =>
    is_replaced ? disconnectText(text, format, null, pieces) : connectText(text, format, pieces);
  const write = async ({ snapshot, change }: Step): Promise<string | null> => {
    // Keep the copy from before the first change.
    const keeps = change.kind === "added" || (await readCopy(snapshot.path)) === null;
    const copy = keeps ? await keepCopy(snapshot) : null;
    await replaceFile(snapshot, change.text);
    return copy;
  };
  const code = await carryOut(io, { client, places, options, plan, write, paste: true });
  if (code === EXIT.done && !options.json) io.err(advice);
  return code;
}

/** Removes what `connect` added, and nothing else. Exit codes as for {@link connect}. */
export async function disconnect(io: Io, client: ClientName, options: Options): Promise<number> {
  const base = await knownAddress(io, options);
  const plan = async ({ format, pieces }: Place, { text, path, is_link }: Snapshot) => {
    const copy = (await readCopy(path))?.text ?? null;
    const change = disconnectText(text, format, copy, pieces);
    for (const { as, path, isOurs } of pieces) {
      const entry = valueAt(format.read(text), path);
      if (as === "member" && isOurs(entry)) checkOwner(entry, path, base);
    }
    // Deleting the file would break the link, so it is emptied.
    return change.text === null && is_link ? { ...change, text: "" } : change;
  };
  const write = async ({ snapshot, change }: Step): Promise<string | null> => {
    const copy = await readCopy(snapshot.path);
    await replaceFile(snapshot, change.text);
    // If `connect` made the file, the copy is older, or a file of the person's own.
    if (copy === null || change.text === null) return null;
    if (copy.text !== change.text) return copy.path;
    await dropCopy(copy.path);
    return null;
  };
  const places = placesOf(client, io);
  return await carryOut(io, { client, places, options, plan, write, paste: false });
}

interface Work {
  readonly client: ClientName;
  readonly places: readonly Place[];
  readonly options: Options;
  readonly plan: (place: Place, snapshot: Snapshot) => Change | Promise<Change>;
  /** Returns the path of the copy that is kept; null if there is none. */
  readonly write: (step: Step) => Promise<string | null>;
  /** Whether to print the lines to add by hand if a file is left alone. */
  readonly paste: boolean;
}

/** Plans the changes of all files, shows them, asks, and only then writes. */
async function carryOut(io: Io, work: Work): Promise<number> {
  const { client, places, options, plan, write } = work;
  const files: { readonly path: string; readonly change: string; readonly copy: string | null }[] =
    [];
  /** The file at hand. */
  let path = "";
  try {
    const steps: Step[] = [];
    for (const place of places) {
      path = place.file;
      const snapshot = await readSnapshot(path);
      steps.push({ place, snapshot, change: await plan(place, snapshot) });
    }
    const due = steps.filter(({ change }) => change.kind !== "none");
    if (!options.json) for (const step of due) io.out(diffText(step));
    if (due.length > 0 && !options.yes) {
      if (!io.confirm)
        throw new Fault("nothing was changed: pass --yes to change files without a terminal");
      if (!(await io.confirm("Make this change?"))) {
        io.err("Nothing was changed.\n");
        return EXIT.no;
      }
    }
    for (const step of due) {
      path = step.place.file;
      files.push({ path, change: step.change.kind, copy: await write(step) });
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return leave(io, work, path, error.message, files);
  }
  if (options.json) {
    io.out(jsonLine({ client, files }));
    return EXIT.done;
  }
  if (files.length === 0) {
    io.err(work.paste ? "Relay is already connected.\n" : "Relay isn't configured there.\n");
  }
  for (const { copy } of files) if (copy !== null) io.err(`The file as it was: ${oneLine(copy)}\n`);
  return EXIT.done;
}

/** Says why a file is left alone and what the person can do. */
function leave(
  io: Io,
  { client, places, options, paste }: Work,
  path: string,
  reason: string,
  files: readonly object[],
): number {
  const lines = paste ? pasteTexts(places) : "";
  if (options.json) {
    const left = { path, change: "left_alone", reason, ...(paste && { lines }) };
    io.out(jsonLine({ client, files: [...files, left] }));
    return EXIT.fault;
  }
  const advice = paste
    ? "add these lines yourself, except those that are already there"
    : "remove the entry relay yourself";
  io.err(`relay: ${oneLine(path)} ${oneLine(reason)} and was left alone: ${advice}\n`);
  io.out(lines);
  return EXIT.fault;
}

/** The path of each file, and the entries to paste into it. */
const pasteTexts = (places: readonly Place[]): string =>
  places
    .filter(({ is_replaced }) => !is_replaced)
    .map(({ file, format, pieces }) => {
      const add = (made: string, { path, value, as }: Piece) => format.add(made, path, value, as);
      return `${oneLine(file)}:\n\n${pieces.reduce(add, "")}`;
    })
    .join("\n");

function diffText({ place: { file }, snapshot, change }: Step): string {
  const what = change.text === null ? " (deleted)" : snapshot.bytes ? "" : " (new)";
  const lines = diffOf(snapshot.text, change.text ?? "");
  return `${oneLine(file)}${what}\n${lines.map((line) => `${line}\n`).join("")}`;
}

/** The base address: from `--url`, `RELAY_URL` or the stored sign-in; else null. */
async function knownAddress(io: Io, { url: given }: Options): Promise<string | null> {
  const url = given ?? io.env.RELAY_URL ?? (await readAccess(io))?.url;
  return url ? baseOf(url) : null;
}

async function addressOf(io: Io, options: Options): Promise<string> {
  const base = await knownAddress(io, options);
  if (base === null)
    throw new Fault("give the address of the server with --url, or run relay login <url>");
  return base;
}
