/** The route, which is the fragment of the address, so that navigation needs no server. */

import { useSyncExternalStore } from "react";

const SECTIONS = [
  "questions",
  "tasks",
  "search",
  "agents",
  "account",
  "reach",
  "authorize",
  "approve",
] as const;

export interface Route {
  readonly section: (typeof SECTIONS)[number];
  /**
   * Id of the open question, task or agent; for `authorize` and `approve`, a client's request or
   * its code. Null: none is open.
   */
  readonly id: string | null;
  /** Tab of the open agent. */
  readonly part: string | null;
  readonly query: URLSearchParams;
}

let parsed: { hash: string; route: Route } | undefined;

function read(): Route {
  const { hash } = location;
  if (parsed?.hash !== hash) parsed = { hash, route: parse(hash) };
  return parsed.route;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name, id, part] = path.split("/");
  const section = SECTIONS.find((one) => one === name) ?? "questions";
  return { section, id: id || null, part: part || null, query: new URLSearchParams(query) };
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

/** The current route; renders again when it changes. */
export function useRoute(): Route {
  return useSyncExternalStore(subscribe, read);
}

/** Navigates to `to`; with `replace`, without a history entry. */
export function go(to: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, "", `#/${to}`);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = `/${to}`;
  }
}

/**
 * Closes a sheet that is open over a list. If the person came from a view of this page, goes back
 * in the history, so that the list is as they left it; otherwise replaces the entry by `to`.
 */
export function close(to: string): void {
  // Already closed, or closing: going back takes the browser a moment.
  if (!OVER_A_LIST.test(location.hash.slice(1)) || leaving) return;
  const { navigation } = globalThis as { navigation?: Navigation };
  const at = navigation?.currentEntry?.index ?? 0;
  const before = navigation?.entries()[at - 1]?.url;
  const [page, hash] = before?.split("#") ?? [];
  const [here] = location.href.split("#");
  if (page === here && !OVER_A_LIST.test(hash ?? "")) {
    leaving = true;
    window.addEventListener("hashchange", arrive, { once: true });
    history.back();
  } else go(to, { replace: true });
}

/** True if `close` is going back right now. */
let leaving = false;
const arrive = () => {
  leaving = false;
};

/** True if this task is open now. Check it before a late response navigates. */
export function isTaskOpen(task_id: string): boolean {
  const { section, id } = read();
  return section === "tasks" && id === task_id;
}

/** An open task, or the form for a new one. */
const OVER_A_LIST = /^\/tasks\/./;
