/** Announces new questions to screen readers in the view that lists them. */

import { useSyncExternalStore } from "react";
import { after } from "../clock.ts";

/** Seconds over which questions are collected into one announcement. */
const GATHERED = 1;

/** Seconds until the announcement is removed. */
const SAID = 6;

let waiting: string[] = [];
/** `at` is the React key: a new one repeats an announcement with the same text. */
let said = { at: 0, text: "" };
let stop = () => {};
const listeners = new Set<() => void>();

function say(text: string): void {
  said = { at: said.at + 1, text };
  for (const listener of [...listeners]) listener();
}

/**
 * Announces a question of this agent, or the number of questions if several arrive within a second.
 */
export function announce(label: string): void {
  waiting.push(label);
  if (waiting.length > 1) return;
  after(GATHERED, () => {
    const { length } = waiting;
    say(length === 1 ? `New question from ${waiting[0]}` : `${length} new questions`);
    waiting = [];
    stop();
    stop = after(SAID, () => say(""));
  });
}

export function Announcer() {
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
