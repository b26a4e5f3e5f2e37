/** Says where the questions are shown that there is a new one, to those who do not see the list. */

import { useSyncExternalStore } from "react";
import { after } from "../clock.ts";

/** Seconds in which what comes is said together. */
const GATHERED = 1;

/** Seconds that it stays there to be read. */
const SAID = 6;

let waiting: string[] = [];
/** Another number each time, so that the same words are said again. */
let said = { at: 0, text: "" };
let stop = () => {};
const listeners = new Set<() => void>();

function say(text: string): void {
  said = { at: said.at + 1, text };
  for (const listener of [...listeners]) listener();
}

/** Says that this agent has a question, or how many have come within a second. */
export function announce(label: string): void {
  waiting.push(label);
  if (waiting.length > 1) return;
  after(GATHERED, () => {
    const { length } = waiting;
    say(length === 1 ? `A new question from ${waiting[0]}` : `${length} new questions`);
    waiting = [];
    stop();
    stop = after(SAID, () => say(""));
  });
}

export function News() {
  const { at, text } = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => said,
  );
  return (
    <div role="status" className="sr-only">
      <p key={at}>{text}</p>
    </div>
  );
}
