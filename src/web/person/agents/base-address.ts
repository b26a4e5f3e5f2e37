/** The base address that agents use, and how they can sign in there. */

import { useEffect, useState } from "react";

/** Base address for agents: `PUBLIC_URL` if configured, otherwise the address of this page. */
export function baseAddress(): string {
  const configured = document.querySelector<HTMLMetaElement>('meta[name="relay-url"]')?.content;
  return configured ?? new URL(".", document.baseURI).href.replace(/\/$/, "");
}

/** True if the host name of an address means the machine itself. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);

/** True if MCP clients accept OAuth at this address: loopback, or https with a host name. */
function acceptsOAuth({ protocol, hostname }: URL): boolean {
  const is_address = /^\[|^[\d.]+$/.test(hostname);
  return isLoopback(hostname) || (protocol === "https:" && !is_address);
}

/**
 * True if clients find the OAuth metadata. For an address with a path, they look outside of that path (RFC 8414 3),
 * so a proxy has to pass such requests on.
 */
async function isFound(base: string): Promise<boolean> {
  const { href, pathname } = new URL(base);
  const path = pathname.replace(/\/$/, "");
  const response = await fetch(new URL(`/.well-known/oauth-authorization-server${path}`, base));
  if (!response.ok) return false;
  // Throws for the sign-in page of a proxy.
  const { issuer } = (await response.json()) as { issuer?: unknown };
  return path === "" || issuer === href.replace(/\/$/, "");
}

/** True if the server offers OAuth at this page's own address; undefined before it was asked. */
let confirmed: boolean | undefined;

/**
 * True if the address offers OAuth, as far as is known without a request; undefined if a request is
 * needed.
 */
function knownOf(base: string): boolean | undefined {
  const url = new URL(base);
  if (!acceptsOAuth(url)) return false;
  // The page's content security policy permits requests only to its own server.
  return url.origin === location.origin ? confirmed : url.pathname === "/";
}

/**
 * True if agents can connect without a key at this base address (§18.1.4);
 * undefined until that is known. Behind a proxy the server may see another address than the page
 * does, so it is asked for its metadata.
 */
export function useOffersOAuth(base: string): boolean | undefined {
  const [offered, setOffered] = useState(() => knownOf(base));
  useEffect(() => {
    if (offered !== undefined) return;
    let ended = false;
    void isFound(base)
      .then((ok) => {
        confirmed = ok;
        return ok;
      })
      .catch(() => false)
      .then((ok) => ended || setOffered(ok));
    return () => {
      ended = true;
    };
  }, [base, offered]);
  return offered;
}
