/** The address of a server, as people type it, and how to reach it. */

import { proxyOptions } from "../loopback.ts";
import { Fault } from "./io.ts";

/** The end of the path of an MCP endpoint. */
const MCP = /\/mcp\/*$/;

/**
 * The base address without its last slash. Also accepts the address of `/mcp`, as MCP clients use it, and of the web
 * page. Throws a {@link Fault} that names the text if it is none of these.
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

/** `fetch` through the proxy of the environment, except to this machine and to names without a dot. */
export const fetchServer = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { ...proxyOptions(url), ...init });
