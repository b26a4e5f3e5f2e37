/**
 * Decides which open pages of a browser have an event stream: the visible ones, and one leader among
 * the hidden ones.
 */

import { after } from "../clock.ts";
import { scoped } from "./storage.ts";

/** Seconds for which a page keeps its stream after it was hidden. */
const GRACE = 5;

/**
 * Over HTTP/1.1 a browser opens six connections to a server, so six open pages with a stream each would
 * leave none for requests. Without the Web Locks API (plain HTTP from another machine), every page has a
 * stream. `onChange` is called when `has` may return another value.
 */
export function createStreamLeader(onChange: () => void) {
  const ended = new AbortController();
  const { signal } = ended;
  let leads = navigator.locks === undefined;
  let visible = !document.hidden;
  let cancel = () => {};

  const lead = () => {
    leads = true;
    onChange();
  };
  const hold = () => {
    lead();
    return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  // If the browser refuses the lock, every page leads.
  navigator.locks
    ?.request(scoped("stream"), { signal }, hold)
    .catch(() => signal.aborted || lead());

  const onVisibility = () => {
    cancel();
    const change = () => {
      visible = !document.hidden;
      onChange();
    };
    if (document.hidden) cancel = after(GRACE, change);
    else change();
  };
  document.addEventListener("visibilitychange", onVisibility, { signal });

  return {
    /** True if this open page should have a stream. */
    has: (): boolean => visible || leads,

    /** Lets another open page lead. */
    end(): void {
      cancel();
      ended.abort();
    },
  };
}
