/** The base address that agents use, and how they can sign in there. */

/** Base address for agents: `PUBLIC_URL` if configured, otherwise the address of this page. */
export function baseAddress(): string {
  const configured = document.querySelector<HTMLMetaElement>('meta[name="relay-url"]')?.content;
  return configured ?? new URL(".", document.baseURI).href.replace(/\/$/, "");
}

/**
 * Whether agents can connect without a key: MCP clients accept OAuth at loopback, and at https with a
 * DNS name (docs/interface.md §18.1.4); its addresses have no room for a path.
 */
export function offersOAuth(base: string): boolean {
  const { protocol, hostname, pathname } = new URL(base);
  if (pathname !== "/") return false;
  const is_address = /^\[|^[\d.]+$/.test(hostname);
  const is_loopback = /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return is_loopback || (protocol === "https:" && !is_address);
}
