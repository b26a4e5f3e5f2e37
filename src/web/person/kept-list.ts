/** Keeps the list that a question was opened from, hidden behind it, so that it can be returned to as it was. */

import { useEffect, useLayoutEffect, useRef } from "react";
import type { Store } from "../state/store.ts";
import { isEarlierEntry, type Route } from "./route.ts";
import { useSession } from "./use-store.ts";

/** True if the view is one question. */
export const isQuestion = (route: Route): route is Route & { readonly id: string } =>
  route.section === "questions" && route.id !== null;

/** Names a view: another name is another view. A task opens over its list, which keeps its scroll position. */
const nameOf = ({ section, id, part }: Route): string =>
  section === "tasks" ? section : `${section} ${id} ${part}`;

/** Sections with links to questions. A sheet that is open over the tasks would cover the question. */
const KEPT: readonly string[] = ["questions", "search", "agents"];

/**
 * `list`: the view to show or, while a question is open, to keep hidden behind it; null if none is kept. Each view
 * begins at its top, but a list that the person goes back to is as they left it: at the same place, with the focus on
 * the link to the question. `from`: the view before the question, kept or not; null if the page began with it.
 */
export function useKeptList(route: Route) {
  const { store } = useSession();
  const over = isQuestion(route);
  const from = useRef<Route>(null);
  const list = useRef<Route>(null);
  if (!over) from.current = list.current = route;
  else if (!KEPT.includes(list.current?.section ?? "")) list.current = null;
  // Its card would have another draft of the same answer.
  else if (list.current?.section === "questions" && isPending(store, route.id)) list.current = null;
  const list_key = list.current && nameOf(list.current);
  const view_key = nameOf(route);
  const shown = useRef(view_key);
  /** Where the page is scrolled to. The browser and hiding the list change it before it could be read. */
  const top = useRef(0);
  useLayoutEffect(() => {
    if (over) return;
    const note = () => {
      top.current = window.scrollY;
    };
    window.addEventListener("scroll", note, { passive: true });
    return () => window.removeEventListener("scroll", note);
  }, [over]);
  /** The list that was left for a question, where it was scrolled to, and the question. */
  const left = useRef<{ readonly list_key: string; readonly top: number; id: string }>(null);
  if (shown.current !== view_key) {
    if (list_key === null || (!over && left.current?.list_key !== list_key)) left.current = null;
    else if (over && left.current?.list_key === list_key) left.current.id = route.id;
    else if (over) left.current = { list_key, top: top.current, id: route.id };
    shown.current = view_key;
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: when another view is shown.
  useEffect(() => {
    const is_earlier = isEarlierEntry();
    const back = is_earlier && !over ? left.current : null;
    top.current = back?.top ?? 0;
    window.scrollTo(0, top.current);
    if (!over) left.current = null;
    if (!back) return;
    const links = [...document.querySelectorAll<HTMLElement>("main a")];
    const href = `#/questions/${back.id}`;
    links.find((link) => link.getAttribute("href") === href)?.focus({ preventScroll: true });
  }, [view_key]);
  return { list: list.current, list_key, view_key, from: from.current };
}

const isPending = ({ all }: Store, id: string): boolean =>
  all.questions.get(id)?.status === "pending";
