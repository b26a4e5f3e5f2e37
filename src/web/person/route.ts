/** Where the person is: in the address behind `#`, so that going back works without the server. */

import { useSyncExternalStore } from "react";

export interface Route {
  readonly section: "questions" | "tasks" | "agents" | "account";
  /** Of the task or agent that is open. */
  readonly id: string | null;
  /** A part of what is open. */
  readonly part: string | null;
  readonly query: URLSearchParams;
}

const SECTIONS: readonly Route["section"][] = ["questions", "tasks", "agents", "account"];

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

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, read);
}

/** Goes there; `replace` leaves no step to go back to. */
export function go(to: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, "", `#/${to}`);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = `/${to}`;
  }
}

/**
 * Closes what lies over a list: goes back when the person came from a view of this page, so that all
 * is as they left it; else the list takes its place, and no step leads to it again.
 */
export function close(to: string): void {
  // It is closed already, or about to be: the way back takes the browser a while.
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

/** `close` is on its way back. */
let leaving = false;
const arrive = () => {
  leaving = false;
};

/** Whether this task, and nothing else, is open now: an answer that comes late moves nobody. */
export function isTaskOpen(task_id: string): boolean {
  const { section, id } = read();
  return section === "tasks" && id === task_id;
}

/** A task, or the form for one. */
const OVER_A_LIST = /^\/tasks\/./;
