/** The program that speaks MCP for an agent (docs/interface.md 2.3.3). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";

export const Client = z
  .object({ name: z.string(), version: z.string() })
  .meta({ id: "ClientInfo" });

/** `clientInfo` as far as the interface keeps it. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** The client named in a `clientInfo`; null when it names none. */
export function clientOf(sent: unknown): ClientInfo | null {
  if (typeof sent !== "object" || sent === null) return null;
  const { name, version } = sent as Record<string, unknown>;
  if (typeof name !== "string" || typeof version !== "string") return null;
  const client = { name: clean(name), version: clean(version) };
  return client.name === "" ? null : client;
}

export function isSameClient(one: ClientInfo | null, other: ClientInfo | null): boolean {
  return one?.name === other?.name && one?.version === other?.version;
}

/** Control characters are dropped and long text is cut, as with a host name. */
function clean(text: string): string {
  if (text.length <= LIMITS.client_text && /^[!-~]+$/.test(text)) return text;
  const plain = text
    .toWellFormed()
    .replace(/\p{Cc}/gu, "")
    .trim();
  return [...plain.slice(0, LIMITS.client_text * 2)].slice(0, LIMITS.client_text).join("");
}
