/** What was typed and not sent: as long as its tab lives, neither a reload nor going elsewhere loses it. */

const PREFIX = "relay.draft.";

/** What was kept under this name; null for nothing. */
export function draftOf<T>(name: string): T | null {
  const kept = sessionStorage.getItem(PREFIX + name);
  return kept === null ? null : (JSON.parse(kept) as T);
}

export function keepDraft(name: string, value: unknown): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // The browser has no room: then it is lost with the tab, as it would be without this.
  }
}

export const forgetDraft = (name: string): void => sessionStorage.removeItem(PREFIX + name);
