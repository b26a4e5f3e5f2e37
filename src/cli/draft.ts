/** Reads the draft of `relay ask --draft`, and says in one line why it cannot be one. */

import { createReadStream } from "node:fs";
import { Fault, type Io } from "./io.ts";

/** Characters of a draft, at most (`text_answer` of §10.1), and bytes of as many characters and a line break. */
const CHARACTERS = 4_000;
const BYTES = 4 * CHARACTERS + 2;

/**
 * The text of a file, or of standard input for `-`, without the line break at its end. Throws a {@link Fault} if it cannot
 * be read, is not UTF-8, has no visible text or is too long.
 */
export async function readDraft(io: Pick<Io, "input">, file: string): Promise<string> {
  const name = file === "-" ? "standard input" : file;
  const read = file === "-" ? io.input(undefined, { fatal: true }) : readText(file);
  const text = await read.catch((error: unknown) => {
    if (error instanceof Fault) throw error;
    throw new Fault(
      error instanceof TypeError
        ? `${name} is not text in UTF-8`
        : `${name} cannot be read: check the path`,
    );
  });
  const draft = text.replace(/\r?\n$/, "");
  if (draft.trim() === "") throw new Fault(`${name} is empty: a draft needs text`);
  if ([...draft].length > CHARACTERS) throw tooLong(name);
  return draft;
}

const tooLong = (name: string) =>
  new Fault(`${name} is too long: a draft can have at most 4,000 characters`);

/** At most `BYTES` bytes of a file, which may be a pipe. A `TypeError` if it is not UTF-8. */
async function readText(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: BYTES })) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  if (bytes.length > BYTES) throw tooLong(file);
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
