/** The answers that a notification offers as buttons (§14.3.8, §14.3.9); pure. */

import { NOTIFICATION_LIMITS } from "../../notification-limits.ts";
import { hidesText } from "../../text/hidden.ts";
import { fitsRoom } from "./glyphs.ts";
import type { Alert } from "./notification.ts";

/** The button that answers a question with its draft. */
const APPROVE = "Approve";

export interface OfferedAnswer {
  /** What the button says. The words of an agent are in quotation marks, unlike those of Relay's own buttons. */
  readonly label: string;
  readonly answer: string;
}

/**
 * The buttons of an alert that answer: the options, or {@link APPROVE} for a draft. `is_whole`: whether the person sees
 * the whole body, which ends with the draft. If not, or if characters of the draft are hidden, it cannot be approved.
 */
export function offeredAnswers({ actions }: Alert, is_whole: boolean): readonly OfferedAnswer[] {
  if (actions === null) return [];
  const { draft, options, kind, shows } = actions;
  if (draft === undefined) {
    const is_quoted = kind === "choice" && shows === undefined;
    return options.map((answer) => ({ label: is_quoted ? `“${answer}”` : answer, answer }));
  }
  return is_whole && !hidesText(draft) ? [{ label: APPROVE, answer: draft }] : [];
}

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

/**
 * True if a system's notification, once opened, shows the whole body with its draft (§14.3.9). The chat of a messenger
 * shows more.
 */
export function fitsNotification(body: string): boolean {
  const { draft_characters, draft_lines } = NOTIFICATION_LIMITS;
  return fitsRoom(body, draft_characters) && body.split(LINE_BREAK).length <= draft_lines;
}
