/** The route, which is the fragment of the address, so that navigation needs no server. */

import { createContext, useContext, useSyncExternalStore } from "react";

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
  /** The fragment itself, such as `#/tasks`. */
  readonly hash: string;
}

/** The route of a view that is kept, hidden, while a question is open over it; null: the current route. */
export const KeptRoute = createContext<Route | null>(null);

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
  return { section, id: id || null, part: part || null, query: new URLSearchParams(query), hash };
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

/** The route of the view; renders again when it changes. */
export function useRoute(): Route {
  const kept = useContext(KeptRoute);
  const current = useSyncExternalStore(subscribe, read);
  return kept ?? current;
}

/** Navigates to `to`; with `replace`, without a history entry. */
export function go(to: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(history.state, "", `#/${to}`);
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
  if (!OVER_A_LIST.test(location.hash.slice(1))) return;
  leave(to, (hash) => !OVER_A_LIST.test(hash));
}

/** Closes a question that was opened from the view with the fragment `hash`, which is kept as the person left it. */
export function closeQuestion(hash: string): void {
  const to = hash.replace(/^#?\/?/, "");
  leave(to, (before) => before.replace(/^\//, "") === to);
}

/**
 * True if the person came back to this entry of the history, rather than by a link, which makes a new one. Call it
 * once for each view.
 */
export function isEarlierEntry(): boolean {
  const state = history.state as { readonly seen?: true } | null;
  if (state?.seen) return true;
  history.replaceState({ ...state, seen: true }, "");
  return false;
}

/**
 * Goes back in the history if `isTarget` says so of the fragment before, without its `#`; otherwise
 * replaces the entry by `to`.
 */
function leave(to: string, isTarget: (hash: string) => boolean): void {
  // Going back takes the browser a moment.
  if (leaving) return;
  const { navigation } = globalThis as { navigation?: Navigation };
  const at = navigation?.currentEntry?.index ?? 0;
  const before = navigation?.entries()[at - 1]?.url;
  const [page, hash = ""] = before?.split("#") ?? [];
  const [here] = location.href.split("#");
  if (page === here && isTarget(hash)) {
    leaving = true;
    window.addEventListener("hashchange", arrive, { once: true });
    history.back();
  } else go(to, { replace: true });
}

/** True while it goes back. */
let leaving = false;
const arrive = () => {
  leaving = false;
};

/** An open task, or the form for a new one. */
const OVER_A_LIST = /^\/tasks\/./;
