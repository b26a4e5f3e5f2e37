/** Announces to screen readers what sighted people see: new questions in the view that lists them, and changes. */

import { useSyncExternalStore } from "react";
import { after } from "../../clock.ts";
import { createObservable } from "../../observable.ts";

/** Seconds over which questions are collected into one announcement. */
const GATHERED = 1;

/** Seconds until the announcement is removed. */
const SAID = 6;

let waiting: string[] = [];
/** `at` is the React key: a new one repeats an announcement with the same text. */
const said = createObservable({ at: 0, text: "" });
let stop = () => {};

/** Lets screen readers say a text. */
export function say(text: string): void {
  said.set({ at: said.get().at + 1, text });
  stop();
  if (text !== "") stop = after(SAID, () => say(""));
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
  });
}

export function Announcer() {
  const { at, text } = useSyncExternalStore(said.subscribe, said.get);
  return (
    <div role="status" className="sr-only">
      <p key={at}>{text}</p>
    </div>
  );
}
