/** The parts of its process that a command uses; tests replace them. */

import type { Timers } from "../client/timers.ts";

interface InputOptions {
  readonly most: number;
  readonly signal?: AbortSignal;
  readonly fatal?: boolean;
}

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Home folder of the user. */
  readonly home: string;
  /** Name of this machine, shown as the agent's host (§1.6). */
  readonly host: string;
  readonly out: (text: string) => void;
  /** True if standard output is a terminal. */
  readonly out_is_terminal: boolean;
  /**
   * Resolves once everything passed to `out` is written. Rejects with an {@link OutputFault} if some of
   * it since the last call could not be.
   */
  readonly flush: () => Promise<void>;
  readonly err: (text: string) => void;
  /** True if standard error is a terminal. */
  readonly err_is_terminal: boolean;
  /**
   * Reads all of standard input. Rejects with `TooLarge` beyond `most` bytes, and with the signal's reason once it
   * aborts. Invalid UTF-8 is replaced, or rejected with `fatal`.
   */
  readonly input: (options: InputOptions) => Promise<string>;
  /** Asks the person at the terminal for yes or no; null if nobody is there. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** Aborts at the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Epoch seconds. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Opens the address in the browser of this machine; false if there is none. */
  readonly open: (url: string) => boolean;
}

/** What is wrong and what to do, in one line; the command ends with {@link EXIT.fault}. */
export class Fault extends Error {}

/** Standard output cannot be written. */
export class OutputFault extends Fault {
  /** Such as `ENOSPC: no space left on device, write`. */
  readonly reason: string;
  /** True if its reader has gone, as `head` does. */
  readonly is_closed: boolean;

  constructor({ message, code }: NodeJS.ErrnoException) {
    super(`the output could not be written: ${message}`);
    this.reason = message;
    this.is_closed = code === "EPIPE";
  }
}

/** Exit codes of the commands. */
export const EXIT = {
  done: 0,
  no: 1,
  /** Nobody answered, or the question was cancelled. */
  unanswered: 2,
  fault: 3,
  /** The reader of the output has gone: the code of a program that SIGPIPE ends. */
  closed: 141,
} as const;
