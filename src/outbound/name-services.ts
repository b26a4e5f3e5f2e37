/** Asks name services of this machine other than its hosts file and name servers, such as mDNS. */

import { lookup } from "node:dns/promises";
import { readIfChanged } from "./changed-file.ts";

/** When to ask: before the name servers, after they did not know the name, or never. */
type NameServiceOrder = "first" | "last" | "never";

/** The name services that only the resolver of the system can ask. */
export interface NameServices {
  order(name: string): NameServiceOrder;
  /** Returns the addresses of a name; empty if it has none. The signal ends it. */
  ask(name: string, signal: AbortSignal): Promise<readonly string[]>;
}

const isLocal = (name: string): boolean => name.endsWith(".local");

/**
 * Asks by `getent`, in a child process that can be ended: the system's resolver would occupy a thread of the pool that
 * files need. `nsswitch`: path of the file that lists the name services.
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

/** Asks the system's resolver, which is a service on other systems; only for names of the local network. */
const OTHER_SYSTEMS: NameServices = {
  order: (name) => (isLocal(name) ? "first" : name.includes(".") ? "never" : "last"),
  ask: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
};

export const nameServicesOf = (nsswitch = "/etc/nsswitch.conf"): NameServices =>
  process.platform === "linux" ? createLinuxServices(nsswitch) : OTHER_SYSTEMS;

const isMulticast = (service: string): boolean => service.startsWith("mdns");

/** The services of the line `hosts:` that Relay does not ask itself. */
function otherServices(text: string): readonly string[] {
  const line = /^\s*hosts:(.*)$/m.exec(text.replace(/#.*/g, ""))?.[1] ?? "";
  return line
    .replace(/\[[^\]]*\]/g, " ")
    .split(/\s+/)
    .filter((service) => service !== "" && service !== "files" && service !== "dns");
}
