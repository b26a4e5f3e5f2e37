/** The code of a start link, `#/start/<code>`: kept by this tab until it is used or dropped (docs/interface.md §5.2.1). */

/** In `sessionStorage`, so that a reload does not lose it. */
const CODE = "relay.start-code";

let code: string | null = null;
const listeners = new Set<() => void>();

const set = (next: string | null) => {
  code = next;
  if (next === null) sessionStorage.removeItem(CODE);
  else sessionStorage.setItem(CODE, next);
  for (const listener of [...listeners]) listener();
};

/** The code that this tab was opened with; null if there is none. */
export const startCode = (): string | null => code;
export const forgetStartCode = (): void => set(null);

export function onStartCode(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Who can create an account on this server; `first`: only one in all, with a start code. */
export function accountCreation(): "open" | "first" | "off" {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="relay-account-creation"]');
  const mode = meta?.content;
  return mode === "first" || mode === "off" ? mode : "open";
}

/** Takes the code out of the address, where other people and the history would see it. */
function take(): void {
  const [, found] = /^#\/start\/([\w-]+)$/.exec(location.hash) ?? [];
  if (found === undefined) return;
  history.replaceState(null, "", "#/");
  if (accountCreation() === "first") set(found);
}

/** Looks for a start link now and whenever the address changes. Creates nothing. */
export function watchStartLinks(): void {
  set(accountCreation() === "first" ? sessionStorage.getItem(CODE) : null);
  take();
  window.addEventListener("hashchange", take);
}
