/**
 * The sign-in that an earlier version kept under the name that all paths of the origin shared: this Relay
 * takes it over if its server knows the token.
 */

import { after } from "../clock.ts";
import { createApi, faultOf } from "./api.ts";
import { currentSession, signIn } from "./session.ts";
import { PATH } from "./storage.ts";
import { adoptShared, successorsOf } from "./token.ts";

/** Seconds between the first two attempts; doubled up to `SLOWEST`. */
const FIRST = 2;
const SLOWEST = 300;

/** Takes the sign-in over if this server knows it. */
async function takeOver(): Promise<void> {
  for (const token of successorsOf("")) {
    const account = await createApi(token).accounts.get.query({}).catch(faultOf);
    if (currentSession() !== null) return;
    if ("message" in account) continue;
    adoptShared(token);
    return signIn(token, account.id);
  }
}

/**
 * Looks for such a sign-in while nobody is signed in: now and, since the server may be without its data for
 * a while, again at growing intervals. Nothing is erased if it fails.
 */
export async function takeOverSharedSignIn(): Promise<void> {
  let seconds = FIRST;
  while (PATH !== "/" && currentSession() === null && successorsOf("").length > 0) {
    await takeOver();
    await new Promise<void>((resolve) => after(seconds, resolve));
    seconds = Math.min(SLOWEST, seconds * 2);
  }
}
