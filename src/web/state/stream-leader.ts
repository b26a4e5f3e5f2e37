/** Which of a browser's pages hold a stream: those that are looked at, and one that stands for the others. */

import { after } from "../clock.ts";

/** Seconds that a page keeps its stream after the person turned to another. */
const GRACE = 5;

/**
 * Over HTTP/1.1 a browser has six connections to a server, so six pages with a stream each would
 * leave none for anything else. Where there are no locks (plain http from another machine), each
 * page has its stream. `onChange` is called when {@link has} may have changed.
 */
export function createStreamLeader(onChange: () => void) {
  const ended = new AbortController();
  const { signal } = ended;
  let stands = navigator.locks === undefined;
  let seen = !document.hidden;
  let cancel = () => {};

  const stand = () => {
    stands = true;
    onChange();
  };
  const hold = () => {
    stand();
    return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  // A browser that refuses locks has as many streams as pages.
  navigator.locks?.request("relay.stream", { signal }, hold).catch(() => signal.aborted || stand());

  const look = () => {
    cancel();
    const change = () => {
      seen = !document.hidden;
      onChange();
    };
    if (document.hidden) cancel = after(GRACE, change);
    else change();
  };
  document.addEventListener("visibilitychange", look, { signal });

  return {
    /** Whether this page is to hold a stream. */
    has: (): boolean => seen || stands,

    /** Lets another page stand for the others. */
    end(): void {
      cancel();
      ended.abort();
    },
  };
}
