/** The program that speaks MCP for an agent (§2.3.3). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";

export const Client = z
  .object({ name: z.string(), version: z.string() })
  .meta({ id: "ClientInfo" });

export type ClientInfo = z.infer<typeof Client>;

/** Reads a `clientInfo`; null if it names no client. */
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

/** Drops control characters and cuts long text, as for a host name. */
function clean(text: string): string {
  if (text.length <= LIMITS.client_text && /^[!-~]+$/.test(text)) return text;
  const plain = text
    .toWellFormed()
    .replace(/\p{Cc}/gu, "")
    .trim();
  return [...plain.slice(0, LIMITS.client_text * 2)].slice(0, LIMITS.client_text).join("");
}
