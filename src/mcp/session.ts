/** Sessions of the old era: what `initialize` said about the client, kept by the client itself. */

import type { Ids } from "../ids.ts";
import type { ClientInfo } from "../model/client.ts";
import type { SignedTokens } from "../signed-token.ts";

/** A value for `Mcp-Session-Id`; no two are the same (docs/interface.md 12.2.1). */
export function writeSession(
  seal: SignedTokens,
  key_id: string,
  client: ClientInfo | null,
  ids: Ids,
): string {
  return seal.write(key_id, [client?.name, client?.version, ids.unique()]);
}

/** The client of a session, null when it named none; undefined when the session is not ours. */
export function readSession(seal: SignedTokens, key_id: string, session: string) {
  const found = seal.read(key_id, session) as [string | null, string | null] | undefined;
  if (!found) return undefined;
  const [name, version] = found;
  return name === null ? null : { name, version: version ?? "" };
}
