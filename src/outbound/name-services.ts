/** Asks what else this machine takes names from, such as mDNS, beside its file of hosts and its name servers. */

import { lookup } from "node:dns/promises";
import { readIfChanged } from "./changed-file.ts";

/** When to ask: before the name servers, after they did not know the name, or not at all. */
type NameServiceOrder = "first" | "last" | "never";

/** The name services of this machine that nothing but its own resolver knows how to ask. */
export interface NameServices {
  order(name: string): NameServiceOrder;
  /** The addresses of a name; empty if it has none. An aborted signal ends it. */
  ask(name: string, signal: AbortSignal): Promise<readonly string[]>;
}

const isLocal = (name: string): boolean => name.endsWith(".local");

/**
 * On Linux by `getent`, in a process that can be ended: the system's resolver would take a thread of
 * the pool that files need. `nsswitch`: where Linux says which name services it uses.
 */
const createLinuxServices = (nsswitch: string): NameServices => {
  const others = readIfChanged(nsswitch, otherServices);
  return {
    order(name) {
      const services = others();
      if (isLocal(name) && services.some(isMulticast)) return "first";
      return services.some((service) => !isMulticast(service)) ? "last" : "never";
    },
    async ask(name, signal) {
      const command = Bun.which("getent");
      if (command === null || signal.aborted) return [];
      const child = Bun.spawn([command, "ahosts", "--", name], {
        stdin: "ignore",
        stderr: "ignore",
        signal,
        killSignal: "SIGKILL",
      });
      const lines = (await new Response(child.stdout).text()).split("\n");
      return [
        ...new Set(lines.map((line) => line.split(/\s/)[0]!).filter((first) => first !== "")),
      ];
    },
  };
};

/**
 * Elsewhere by the system's resolver, which asks a service of the system there and not the name
 * servers: only for the names of the local network.
 */
const OTHER_SYSTEMS: NameServices = {
  order: (name) => (isLocal(name) ? "first" : name.includes(".") ? "never" : "last"),
  ask: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
};

export const nameServicesOf = (nsswitch = "/etc/nsswitch.conf"): NameServices =>
  process.platform === "linux" ? createLinuxServices(nsswitch) : OTHER_SYSTEMS;

const isMulticast = (service: string): boolean => service.startsWith("mdns");

/** The services of the line `hosts:` that are not asked otherwise. */
function otherServices(text: string): readonly string[] {
  const line = /^\s*hosts:(.*)$/m.exec(text.replace(/#.*/g, ""))?.[1] ?? "";
  return line
    .replace(/\[[^\]]*\]/g, " ")
    .split(/\s+/)
    .filter((service) => service !== "" && service !== "files" && service !== "dns");
}
