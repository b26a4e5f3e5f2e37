/** `relay login` and `relay logout`. */

import { renderUnicodeCompact } from "uqr";
import { createClient } from "../client/client.ts";
import { RelayError } from "../client/error.ts";
import { retry } from "../client/retry.ts";
import { baseOf, fetchServer } from "./base.ts";
import { Fault, type Io } from "./io.ts";
import {
  type AuthorizationRequest,
  authorizationRequest,
  isRefusedFor,
  readMetadata,
  redeemCode,
  registerClient,
  revokeAccess,
} from "./oauth.ts";
import { forgetAccess, keepAccess, readAccess } from "./settings.ts";

/** Seconds that the person has to approve: the request is valid for as long (§18.4.3). */
const APPROVE_WITHIN = 600;
/** Seconds that one request waits for another device (§5.15.5). */
const WAIT = 50;

/** Bytes of standard input for a key, which has 47 characters. */
const KEY_BYTES = 4096;

interface LoginOptions {
  /** False: the person approves on another device. */
  readonly browser: boolean;
  /** Reads a key from standard input, without any approval. */
  readonly withKey?: boolean;
}

export async function login(io: Io, typed: string, options: LoginOptions): Promise<void> {
  const url = baseOf(typed);
  if (options.withKey) {
    const key = (await io.input({ most: KEY_BYTES })).trim();
    await checkKey(io, url, key);
    await keepAccess(io, { kind: "key", url, key });
  } else {
    const metadata = await readMetadata(url);
    const client_name = `relay on ${io.host}`;
    using loopback = listen();
    const client_id = await registerClient(metadata, client_name, loopback.redirect_uri);
    const request = authorizationRequest(metadata, client_id, loopback.redirect_uri);
    const by_browser = options.browser && io.open(request.url);
    if (by_browser) {
      io.err(`Approve the sign-in in your browser. If it did not open: ${request.url}\n`);
    }
    const answer = by_browser ? loopback.answer(request) : approvedElsewhere(io, url, request);
    const code = await within(io, answer);
    await keepAccess(io, await redeemCode(io, metadata, request, code));
  }
  io.err(`Signed in at ${url}\n`);
}

async function checkKey(io: Io, url: string, credential: string): Promise<void> {
  if (!/^mck_[\w-]+$/.test(credential)) {
    throw new Fault("standard input has no key: a key begins with mck_");
  }
  try {
    await createClient({ url, credential, agent_host: io.host, fetch: fetchServer }).agents.list({
      signal: io.signal,
    });
  } catch (error) {
    if (error instanceof RelayError && error.code === "unauthorized") {
      throw new Fault(`${url} does not accept the key: copy it again, or create a new one there`);
    }
    throw error;
  }
}

/** Rejects after {@link APPROVE_WITHIN} and at Ctrl-C. */
async function within<Result>(io: Io, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = io.timers.after(APPROVE_WITHIN, () =>
    reject(new Fault("nobody approved the sign-in in 10 minutes: run relay login again")),
  );
  const stop = () => reject(new Fault("cancelled"));
  io.signal.addEventListener("abort", stop);
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
    io.signal.removeEventListener("abort", stop);
  }
}

/** Listens on loopback for the redirect, and refuses what does not answer the request. */
function listen() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  promise.catch(() => {});
  let request: AuthorizationRequest | undefined;
  const say = (text: string, status = 200) =>
    new Response(`<!doctype html><meta charset="utf-8"><title>Relay</title><p>${text}</p>`, {
      status,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'",
        "referrer-policy": "no-referrer",
        connection: "close",
      },
    });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ method, url }) => {
      const { pathname, searchParams } = new URL(url);
      if (method !== "GET" || pathname !== "/callback" || !request) return say("Not found", 404);
      try {
        const code = request.codeOf(searchParams);
        if (code === null) return say("This does not belong to the current sign-in.", 400);
        resolve(code);
        return say("Approved. You can close this window and return to the terminal.");
      } catch (error) {
        reject(error);
        return say("Not approved. You can close this window.");
      }
    },
  });
  return {
    redirect_uri: `http://127.0.0.1:${server.port}/callback`,
    answer: (its: AuthorizationRequest) => {
      request = its;
      return promise;
    },
    // The last response is still sent.
    [Symbol.dispose]: () => void server.stop(),
  };
}

/** Has another device approve the request, like a browser without a sign-in (§18.6). */
async function approvedElsewhere(
  io: Io,
  url: string,
  { url: address, codeOf }: AuthorizationRequest,
): Promise<string> {
  const asked = await fetchServer(address, { redirect: "manual", signal: io.signal });
  const [, sealed] = /#\/authorize\/([^/?]+)$/.exec(asked.headers.get("location") ?? "") ?? [];
  if (!sealed) throw new Fault(`${url} refused the sign-in: HTTP ${asked.status}`);
  const client = createClient({ url, timers: io.timers, fetch: fetchServer });
  const approval = await client.oauth.askApproval({ request: sealed }, { signal: io.signal });
  // Without a link that other devices can open, the address that reached the server from here.
  const place = approval.url ?? `${url}/#/approve/${approval.code}`;
  io.err("Open the link on a device that is signed in, and compare the code.\n");
  io.err(`Code: ${approval.code}\nLink: ${place}\n`);
  if (approval.url && io.err_is_terminal) io.err(`${renderUnicodeCompact(approval.url)}\n`);
  const options = { within: APPROVE_WITHIN, signal: io.signal };
  for (;;) {
    const { status, redirect_to } = await retry(io.timers, options, () =>
      client.oauth.awaitApproval({ secret: approval.secret, wait: WAIT }, { signal: io.signal }),
    );
    if (redirect_to !== null) {
      const code = codeOf(new URL(redirect_to).searchParams);
      if (code === null) throw new Fault("the answer does not belong to this sign-in");
      return code;
    }
    if (status !== "waiting") throw new Fault("the request ended: run relay login again");
  }
}

/** Revokes the access at the server, and deletes it here. */
export async function logout(io: Io): Promise<void> {
  const access = await readAccess(io);
  if (!access) {
    io.err("Not signed in\n");
    return;
  }
  // The file is deleted even if the server is gone.
  const revoked =
    access.kind === "key" ||
    (await revokeAccess(access).then(
      () => true,
      // A server that does not know this client has nothing to revoke.
      (error: unknown) => isRefusedFor(error, "invalid_client"),
    ));
  await forgetAccess(io);
  const rest = access.kind === "key" ? "; the key itself still works" : "";
  io.err(
    revoked
      ? `Signed out of ${access.url}${rest}\n`
      : `Signed out here. ${access.url} could not be reached: revoke the access on its page\n`,
  );
}
