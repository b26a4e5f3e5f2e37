/** The codes of a start link, `#/start/<code>`, and of an invitation, `#/invite/<code>` (§5.2.1). */

import { createLinkCode } from "./link-code.ts";

/** Who can create an account on this server; `first`: only one in all, with a start code. */
export function accountCreation(): "open" | "first" | "off" {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="relay-account-creation"]');
  const mode = meta?.content;
  return mode === "first" || mode === "off" ? mode : "open";
}

/**
 * The start code that this tab was opened with. It is used only when the person creates the
 * account.
 */
export const startCode = createLinkCode({
  name: "start-code",
  address: /^\/start\/([\w-]+)$/,
  accepts: () => accountCreation() === "first",
});

/** The code of the invitation that this tab was opened with, used as {@link startCode} is. */
export const inviteCode = createLinkCode({
  name: "invite-code",
  address: /^\/invite\/([\w-]+)$/,
});
