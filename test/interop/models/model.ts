/** Stand-ins for model services: the model calls the tools that its prompt names, then ends its turn. */

/** A tool call that the model makes. */
export interface ToolCall {
  readonly name: string;
  readonly input: object;
}

/** A model service on its own port. */
export interface Model {
  readonly url: string;
  /** Tool results that the agent sent, each once, as JSON. */
  readonly results: readonly string[];
  readonly stop: () => Promise<void>;
}

/** A prompt that makes the model call these tools, all in one response. */
export const promptFor = (calls: readonly ToolCall[]): string =>
  `Call ${Buffer.from(JSON.stringify(calls)).toString("base64url")} now`;

/** The calls that a prompt asks for; none for any other text. */
export function callsIn(text: string): readonly ToolCall[] {
  const found = /Call ([\w-]+) now/.exec(text)?.[1];
  return found === undefined ? [] : JSON.parse(Buffer.from(found, "base64url").toString());
}

/** Server-sent events of a model's response, all at once. */
export function eventStream(events: readonly { readonly type: string }[]): Response {
  const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
}

export const randomId = (prefix: string): string =>
  `${prefix}_${Bun.randomUUIDv7().replaceAll("-", "")}`;

/** Serves POST requests to paths with this ending; the service has nothing else. */
export function startModel(end: string, answer: (body: unknown) => Response) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (!pathname.endsWith(end)) return Response.json({}, { status: 404 });
      if (request.method !== "POST") return Response.json({}, { status: 405 });
      return answer(await request.json());
    },
  });
  return { url: server.url.origin, stop: () => server.stop(true) };
}
