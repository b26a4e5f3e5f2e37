/** A client with the credential of this user. It renews its access by itself. */

import { type Client, createClient } from "../client/client.ts";
import { RelayError } from "../client/error.ts";
import { type ClientOptions, type Connection, connectionOf, type Fetch } from "../client/send.ts";
import { baseOf, fetchServer } from "./base.ts";
import { Fault, type Io } from "./io.ts";
import { isRefusedFor, refreshAccess } from "./oauth.ts";
import { keepAccess, type OAuthAccess, readAccess } from "./settings.ts";

/** An access token is replaced this many seconds before it ends. */
const EARLY = 60;

export interface Session {
  /** Base address of the server. */
  readonly url: string;
  readonly client: Client;
  /** For requests other than REST. */
  readonly connection: Connection;
}

const sessionOf = (options: ClientOptions): Session => ({
  url: options.url,
  client: createClient(options),
  connection: connectionOf(options),
});

/** Opens a session with `RELAY_KEY` and `RELAY_URL`, or else with the sign-in. Throws a {@link Fault} without either. */
export async function openSession(io: Io): Promise<Session> {
  const { RELAY_KEY: key, RELAY_URL } = io.env;
  const common = { agent_host: io.host, timers: io.timers, fetch: fetchServer };
  const access = key && RELAY_URL ? null : await readAccess(io);
  if (key) {
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new Fault(
        "RELAY_KEY has characters that a key never has, such as a line break: copy the key again",
      );
    }
    const url = RELAY_URL ? baseOf(RELAY_URL, "RELAY_URL") : access?.url;
    if (!url) throw new Fault("set RELAY_URL to the address of the server that RELAY_KEY is for");
    return sessionOf({ ...common, url, credential: key });
  }
  if (!access)
    throw new Fault("not signed in: run relay login <url>, or set RELAY_URL and RELAY_KEY");
  const { url } = access;
  if (access.kind === "key") return sessionOf({ ...common, url, credential: access.key });
  return sessionOf({ ...common, url, fetch: refreshing(io, access) });
}

/** `fetch` with a valid access token. Uses the token that another process of this user has renewed. */
function refreshing(io: Io, first: OAuthAccess): Fetch {
  let access = first;
  let renewal: Promise<void> | undefined;

  const renew = async () => {
    const kept = await readAccess(io);
    const is_newer = kept?.kind === "oauth" && kept.access_token !== access.access_token;
    if (is_newer && kept.url === access.url && kept.expires_at - EARLY > io.now()) {
      access = kept;
      return;
    }
    try {
      access = await refreshAccess(io, access);
    } catch (error) {
      if (!isRefusedFor(error, "invalid_grant", "invalid_client")) throw error;
      // Any other error would be retried like a lost connection.
      throw new RelayError("unauthorized", "The access has ended");
    }
    await keepAccess(io, access);
  };
  const renewOnce = () => {
    renewal ??= renew().finally(() => {
      renewal = undefined;
    });
    return renewal;
  };

  const attempt: Fetch = (url, init) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${access.access_token}`);
    return fetchServer(url, { ...init, headers });
  };
  return async (url, init) => {
    if (access.expires_at - EARLY <= io.now()) await renewOnce();
    const used = access.access_token;
    const response = await attempt(url, init);
    if (response.status !== 401) return response;
    if (used === access.access_token) await renewOnce();
    return await attempt(url, init);
  };
}
