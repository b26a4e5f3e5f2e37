/** Sessions of the old era: what `initialize` said of the client, signed and kept by the client. */

import type { Ids } from "../ids.ts";
import type { ClientInfo } from "../model/client.ts";
import type { McpSession } from "../model/mcp-session.ts";
import type { SignedTokens } from "../signer.ts";

interface NewSession {
  readonly client: ClientInfo | null;
  readonly ids: Ids;
  /** A timestamp. */
  readonly now: number;
}

/** A new value of `Mcp-Session-Id`; no two are equal (§12.2.1). */
export function writeSession(
  seal: SignedTokens,
  key_id: string,
  { client, ids, now }: NewSession,
): string {
  return seal.write(key_id, [client?.name, client?.version, ids.unique(), Math.round(now * 1000)]);
}

/** A session and its client, null if it gave no name. Undefined if this store did not sign it for the key. */
export function readSession(
  seal: SignedTokens,
  key_id: string,
  text: string,
): { readonly client: ClientInfo | null; readonly session: McpSession } | undefined {
  const found = seal.read(key_id, text) as
    | [name: string | null, version: string | null, id: string, began?: number]
    | undefined;
  if (!found) return undefined;
  const [name, version, id, began] = found;
  return {
    client: name === null ? null : { name, version: version ?? "" },
    session: { id, began_at: began === undefined ? null : began / 1000 },
  };
}
