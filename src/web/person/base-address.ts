/** The base address that agents use, and how they can sign in there. */

/** Base address for agents: `PUBLIC_URL` if configured, otherwise the address of this page. */
export function baseAddress(): string {
  const configured = document.querySelector<HTMLMetaElement>('meta[name="relay-url"]')?.content;
  return configured ?? new URL(".", document.baseURI).href.replace(/\/$/, "");
}

/**
 * Whether agents can connect without a key: the server offers OAuth, and at this base address MCP clients
 * accept it, which is loopback, or https with a DNS name.
 */
export function offersOAuth(base: string): boolean {
  if (!document.querySelector('meta[name="relay-oauth"]')) return false;
  const { protocol, hostname } = new URL(base);
  const is_address = /^\[|^[\d.]+$/.test(hostname);
  const is_loopback = /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return is_loopback || (protocol === "https:" && !is_address);
}
