/** Reads the context and the draft of `relay ask`, and says in one line what is wrong with them. */

import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { Fault, type Io } from "./io.ts";

/** Characters of a draft, at most (`text_answer` of §10.1), and bytes of as many characters and a line break. */
const CHARACTERS = 4_000;
const BYTES = 4 * CHARACTERS + 2;

type Input = Pick<Io, "input" | "signal">;

/** The text of a file, or of standard input for `-`. Throws a {@link Fault} if it cannot be read. */
export async function readContext(io: Input, file: string): Promise<string> {
  if (file === "-") return await readInput(io, false);
  return await readFile(file, "utf8").catch(() => {
    throw unreadable(file);
  });
}

/**
 * The text of a file, or of standard input for `-`, without the line break at its end. Throws a {@link Fault} if it cannot
 * be read, is not UTF-8, has no visible text or is too long.
 */
export async function readDraft(io: Input, file: string): Promise<string> {
  const name = file === "-" ? "standard input" : file;
  const read = file === "-" ? readInput(io, true) : readBounded(file);
  const text = await read.catch((error: unknown) => {
    if (error instanceof Fault) throw error;
    throw error instanceof TypeError ? new Fault(`${name} is not text in UTF-8`) : unreadable(name);
  });
  const draft = text.replace(/\r?\n$/, "");
  if (draft.trim() === "") throw new Fault(`${name} is empty: a draft needs text`);
  if ([...draft].length > CHARACTERS) throw tooLong(name);
  return draft;
}

const unreadable = (name: string) => new Fault(`${name} cannot be read: check the path`);
const tooLong = (name: string) =>
  new Fault(`${name} is too long: a draft can have at most 4,000 characters`);

/** All of standard input, until Ctrl-C. A `TypeError` with `fatal` if it is not UTF-8. */
const readInput = (io: Input, fatal: boolean): Promise<string> =>
  io.input(io.signal, { fatal }).catch((error: unknown) => {
    throw io.signal.aborted ? new Fault("interrupted: nothing was asked") : error;
  });

/** The text of a file, which may be a pipe; reads at most `BYTES` bytes. A `TypeError` if it is not UTF-8. */
async function readBounded(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: BYTES })) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  if (bytes.length > BYTES) throw tooLong(file);
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
