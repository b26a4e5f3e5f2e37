/** Reads the context and the draft of `relay ask`, and says in one line what is wrong with them. */

import { createReadStream } from "node:fs";
import { readBounded, TooLarge } from "../bounded-read.ts";
import { Fault, type Io } from "./io.ts";

/** Characters of each, at most (`context` and `text_answer` of §10.1). */
const CHARACTERS = { context: 20_000, draft: 4_000 } as const;

export interface Draft {
  readonly draft: string;
  /** CR LF, LF or nothing. */
  readonly end: string;
}

type Input = Pick<Io, "input" | "signal">;

/** The text of a file, or of standard input for `-`. Throws a {@link Fault} if it cannot be read or is too long. */
export const readContext = (io: Input, file: string): Promise<string> => read(io, "context", file);

/**
 * The text of a file, or of standard input for `-`, and the line break at its end, which is no part of the draft. Throws a
 * {@link Fault} if it cannot be read, is not UTF-8, has no visible text or is too long.
 */
export async function readDraft(io: Input, file: string): Promise<Draft> {
  const text = await read(io, "draft", file);
  const [end] = /(?:\r?\n)?$/.exec(text)!;
  const draft = text.slice(0, text.length - end.length);
  if (draft.trim() === "") throw new Fault(`${nameOf(file)} is empty: a draft needs text`);
  if ([...draft].length > CHARACTERS.draft) throw tooLong("draft", file);
  return { draft, end };
}

const nameOf = (file: string) => (file === "-" ? "standard input" : file);
const tooLong = (what: keyof typeof CHARACTERS, file: string) =>
  new Fault(
    `${nameOf(file)} is too long: a ${what} can have at most ${CHARACTERS[what].toLocaleString("en")} characters`,
  );

/** The text, which may come from a pipe. A draft must be UTF-8. Ctrl-C ends the reading of standard input. */
async function read(
  { input, signal }: Input,
  what: keyof typeof CHARACTERS,
  file: string,
): Promise<string> {
  // As many characters of four bytes, and a line break.
  const most = 4 * CHARACTERS[what] + 2;
  const fatal = what === "draft";
  try {
    if (file === "-") return await input({ most, signal, fatal });
    const bytes = await readBounded(createReadStream(file), most);
    return new TextDecoder("utf-8", { fatal }).decode(bytes);
  } catch (error) {
    if (file === "-" && signal.aborted) throw new Fault("interrupted: nothing was asked");
    if (error instanceof TooLarge) throw tooLong(what, file);
    if (error instanceof TypeError) throw new Fault(`${nameOf(file)} is not text in UTF-8`);
    throw new Fault(`${nameOf(file)} cannot be read: check the path`);
  }
}
