/** The address of a server, as people type it. */

import { Fault } from "./io.ts";

/**
 * The base address as typed, without its last slash. The address of `/mcp`, as clients are given it, and that of the
 * web page are understood too. Throws a {@link Fault} that names the text if it is none of these.
 */
export function baseOf(text: string, name = text): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  if (url && MCP.test(url.pathname)) {
    url.pathname = url.pathname.replace(MCP, "");
    url.search = "";
  }
  if (url?.hash.startsWith("#/")) url.hash = "";
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Fault(`${name} is not the address of a server, such as https://relay.example`);
  }
  return url.href.replace(/[/#?]+$/, "");
}

/** The end of a path that is that of the MCP endpoint. */
const MCP = /\/mcp\/*$/;
