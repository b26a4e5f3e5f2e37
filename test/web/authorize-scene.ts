/** A program that requests access by OAuth, with a page at its redirect address. */

import type { Page } from "playwright-core";
import { createVerifier, register, requestTokens } from "../support/oauth.ts";
import { until } from "../support/until.ts";
import { untilSteady } from "./browser.ts";

/** The title of the request on the page. */
export const TITLE = "A program asks for access";

/** Presses the button once it stands still. */
export async function press(page: Page, name: string): Promise<void> {
  const button = page.getByRole("button", { name, exact: true });
  await untilSteady(button);
  await button.click();
}

/** What the program received at its redirect address. */
export const answers: Record<string, string>[] = [];
const program = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/callback") answers.push(Object.fromEntries(searchParams));
    return new Response("<!doctype html><html lang=en><title>Program</title><p>Signed in", {
      headers: { "content-type": "text/html" },
    });
  },
});
const REDIRECT = `http://127.0.0.1:${program.port}/callback`;

/** A program that requests access: the address that it opens, and how it uses the code. */
export async function startProgram(url: string, client_name = "Test program") {
  const client_id = await register(url, { client_name, redirect_uris: [REDIRECT] });
  const { verifier, challenge } = createVerifier();
  const fields = {
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: crypto.randomUUID(),
  };
  return {
    at: `oauth/authorize?${new URLSearchParams(fields)}`,
    answer: () => until(() => answers.find(({ state }) => state === fields.state)),
    redeem: (code: string) =>
      requestTokens(url, {
        grant_type: "authorization_code",
        code,
        client_id,
        redirect_uri: REDIRECT,
        code_verifier: verifier,
      }),
  };
}
