/** Decides which addresses a URL given by a user may lead to (§11.6). */

import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];

/** The assigned global unicast addresses of IPv6. */
const GLOBAL_IPV6: Network = ipaddr.parseCIDR("2000::/3");

/** Where clouds serve the credentials of a machine. `OUTBOUND_PRIVATE` never allows them. */
const METADATA: readonly Network[] = [
  // AWS, Azure, Google, DigitalOcean, Oracle, OpenStack; also AWS's containers and clocks.
  "169.254.0.0/16",
  // Alibaba Cloud.
  "100.100.100.200/32",
  // Oracle Cloud at Customer.
  "192.0.0.192/32",
  // Azure's WireServer, a public address.
  "168.63.129.16/32",
  // AWS and Google over IPv6.
  "fd00:ec2::/32",
  "fd20:ce::254/128",
  "fe80::a9fe:a9fe/128",
  // Scaleway over IPv6.
  "fd00:42::42/128",
].map((network) => ipaddr.parseCIDR(network));

/**
 * IPv6 addresses that stand for an IPv4 address. A translator decides where they lead, which may be any refused
 * address.
 */
const TRANSLATED: readonly Network[] = [
  // Compatible (deprecated; `::1` is told apart below), mapped, translated.
  "::/96",
  "::ffff:0:0/96",
  "::ffff:0:0:0/96",
  // NAT64, with the well-known and the local prefix.
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  // Teredo and 6to4.
  "2001::/32",
  "2002::/16",
].map((network) => ipaddr.parseCIDR(network));

const isIn = (address: Address, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match([network, bits] as never);

/** `public`: allowed over https. `private`: allowed by the configuration, also over http. */
export type Reach = "public" | "private" | "refused";

/** Parses networks in CIDR notation, such as `192.168.0.0/16`; throws for anything else. */
export const networksOf = (notations: readonly string[]): readonly Network[] =>
  notations.map((notation) => ipaddr.parseCIDR(notation));

/**
 * True if an IP address may be reached (§11.6.2). `allowed` adds networks, but never a metadata address or an IPv6
 * address that stands for an IPv4 address.
 */
export function reachOf(literal: string, allowed: readonly Network[]): Reach {
  if (!ipaddr.isValid(literal)) return "refused";
  const address = ipaddr.parse(literal);
  if (METADATA.some((network) => isIn(address, network))) return "refused";
  const is_loopback = address.range() === "loopback";
  if (!is_loopback && TRANSLATED.some((network) => isIn(address, network))) return "refused";
  if (allowed.some((network) => isIn(address, network))) return "private";
  if (address.range() !== "unicast") return "refused";
  return address.kind() === "ipv4" || isIn(address, GLOBAL_IPV6) ? "public" : "refused";
}
