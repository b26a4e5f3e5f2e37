/** The addresses that this machine's own file of hosts gives to a name. */

import { isIP } from "node:net";
import { readIfChanged } from "./changed-file.ts";

const HOSTS_FILE =
  process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";

/**
 * Returns a function that gives the addresses of a name (lower case, without a final dot), in the
 * order of the file; empty for a name that it does not list. Such files may have 100,000 lines, so the
 * text is searched and not taken apart.
 */
export function createHostsFile(path: string = HOSTS_FILE): (name: string) => readonly string[] {
  const read = readIfChanged(path, (text) => `\n${text.toLowerCase()}\n`);
  return (name) => {
    const text = read();
    const found = new Set<string>();
    const end = (from: number) => text.indexOf("\n", from);
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
      // Looked at first, since a short name is part of many others.
      if (!isBlank(text[at - 1]) || !/[\s#]/.test(text[at + name.length]!)) continue;
      const line = text.slice(text.lastIndexOf("\n", at) + 1, end(at));
      const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
      if (names.includes(name) && isIP(address)) found.add(address);
      at = end(at);
    }
    return [...found];
  };
}

const isBlank = (character: string | undefined) => character === " " || character === "\t";
