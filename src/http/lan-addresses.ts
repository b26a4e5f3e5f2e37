/** Finds the addresses of this machine that other machines can use (§1.7.4). */

import { isIP } from "node:net";
import type { networkInterfaces } from "node:os";

type Interfaces = ReturnType<typeof networkInterfaces>;

/** At most so many addresses are shown: an interface may have many of IPv6. */
const SHOWN = 8;

/** Bridges and tunnels of containers, virtual machines and VPNs, by their usual names. */
const VIRTUAL =
  /^(docker|br-|bridge|veth|virbr|vmnet|vboxnet|cni|flannel|cali|podman|lxc|lxd|incus|tun|tap|utun|wg|zt|tailscale|awdl|llw|ap\d|ifb|dummy|gif|stf|vEthernet)/i;

const PRIVATE_IPV4 = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/;
const LINK_LOCAL = /^(169\.254\.|fe[89ab][0-9a-f]:)/i;

/**
 * IP addresses of the interfaces, best first and at most eight: private IPv4 addresses of network cards, then other
 * IPv4 addresses of network cards, those of virtual interfaces, and IPv6. Without loopback and link-local ones.
 */
export function lanAddresses(interfaces: Interfaces): string[] {
  const found = Object.entries(interfaces).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ address, internal }) => !internal && isIP(address) && !LINK_LOCAL.test(address))
      .map(({ address }) => ({ address, rank: rankOf(name, address) })),
  );
  // The sort is stable: equal ranks keep the system's order.
  found.sort((a, b) => a.rank - b.rank);
  return found.slice(0, SHOWN).map(({ address }) => address);
}

function rankOf(name: string, address: string): number {
  const is_virtual = VIRTUAL.test(name);
  if (isIP(address) === 6) return is_virtual ? 4 : 3;
  if (is_virtual) return 2;
  return PRIVATE_IPV4.test(address) ? 0 : 1;
}
