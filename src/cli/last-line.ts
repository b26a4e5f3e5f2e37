/** What a running command printed last, however much it prints. */

import { stripVTControlCharacters } from "node:util";

/** Bytes that are kept: a line of a progress bar with its colours is shorter. */
const KEPT = 4_096;

/** Characters of a note (§10.1). */
const NOTE = 200;

/** What a terminal shows of Ctrl-C, Ctrl-Z and Ctrl-\\. */
const TYPED = /^(?:\^[CZ\\])+|(?:\^[CZ\\])+$/g;

export interface LastLine {
  /** In one line of at most 200 characters, without colours; null before the first. */
  readonly text: string | null;
  /** The last percentage in it, 0 to 100; null if there is none. */
  readonly percent: number | null;
}

/** Takes the output in pieces; the cost of a piece does not grow with its length. */
export function createLastLine() {
  let kept: Uint8Array = new Uint8Array(0);
  return {
    add(bytes: Uint8Array): void {
      const end = bytes.subarray(-KEPT);
      const before = kept.subarray(Math.max(0, kept.length + end.length - KEPT));
      const next = new Uint8Array(before.length + end.length);
      next.set(before);
      next.set(end, before.length);
      kept = next;
    },

    read(): LastLine {
      const text = stripVTControlCharacters(new TextDecoder().decode(kept));
      // A carriage return begins the line anew, as in progress bars.
      const lines = text
        .split(/[\r\n]+/)
        .map((line) => line.replace(/\p{C}/gu, " ").trim().replace(TYPED, "").trim());
      const line = lines.findLast((its) => /\S/.test(its));
      if (line === undefined) return { text: null, percent: null };
      const numbers = [...line.matchAll(/(?<![\d.])(\d{1,3})(?:\.\d+)? ?%/g)];
      const percent = numbers.map(([, digits]) => Number(digits)).findLast((n) => n <= 100);
      return { text: cutTo(line, NOTE), percent: percent ?? null };
    },
  };
}

/** At most `length` code points. */
export function cutTo(text: string, length: number): string {
  const points = [...text];
  return points.length <= length ? text : `${points.slice(0, length - 1).join("")}…`;
}
