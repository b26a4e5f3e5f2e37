/** A later version of the server, as clients see it: its responses have members that they do not know. */

/** Forwards to the server at `url`, and adds one member to every object of a response. */
export function startNewer(url: string) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 120,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = await request.arrayBuffer();
      const { method, headers, signal } = request;
      const sent = { method, headers, signal, ...(body.byteLength > 0 && { body }) };
      const response = await fetch(url + pathname + search, sent);
      const kept = new Headers(response.headers);
      kept.delete("content-encoding");
      kept.delete("content-length");
      const is_json = /^application\/(problem\+)?json/.test(kept.get("content-type") ?? "");
      const { status } = response;
      if (!is_json || pathname.endsWith("openapi.json")) {
        return new Response(response.body, { status, headers: kept });
      }
      const text = JSON.stringify(extended(await response.json()));
      return new Response(text, { status, headers: kept });
    },
  });
  return { url: server.url.origin, stop: () => server.stop(true) };
}

/** A copy in which every object has an extra member, except the map of invalid fields. */
function extended(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(extended);
  const members = Object.entries(value).map(([name, member]) => [
    name,
    name === "fields" ? member : extended(member),
  ]);
  return { ...Object.fromEntries(members), added_later: { by: "a later version" } };
}
