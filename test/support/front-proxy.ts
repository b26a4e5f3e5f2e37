/** A reverse proxy before one or several Relays, which a test makes fail the way such programs do. */

import { afterAll } from "bun:test";

/** Changes a request's headers, or responds to it; undefined: the request is forwarded as it is. */
type Rule = (request: Request, headers: Headers) => Response | undefined;

/**
 * Forwards each request to the server whose path begins its own: `{ "/": url }`, or
 * `{ "/one/": url, "/two/": other }`. The path is removed, as by `location /one/ { proxy_pass url/; }`.
 */
export function startFrontProxy(first: Readonly<Record<string, string>>) {
  let targets = first;
  let rule: Rule = () => undefined;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      const answer = rule(request, headers);
      if (answer) return answer;
      const path = Object.keys(targets).find((one) => pathname.startsWith(one));
      if (path === undefined) return html("Another program", 200);
      const { method, body, signal } = request;
      try {
        const response = await fetch(`${targets[path]}/${pathname.slice(path.length)}${search}`, {
          ...{ method, headers, body, signal, redirect: "manual", decompress: false },
        });
        return new Response(response.body, { status: response.status, headers: response.headers });
      } catch {
        return html("Bad gateway", 502);
      }
    },
  });
  afterAll(() => server.stop(true));
  return {
    url: `http://localhost:${server.port}`,
    /** Sends later requests to these servers. */
    lead(next: Readonly<Record<string, string>>): void {
      targets = next;
    },
    /** Applies this rule to later requests; without one, forwards them as they are. */
    use(next: Rule = () => undefined): void {
      rule = next;
    },
  };
}

/** A page of the proxy's own. */
export const html = (text: string, status: number): Response =>
  new Response(`<!doctype html><title>${text}</title><h1>${text}</h1>`, {
    status,
    headers: { "content-type": "text/html" },
  });
