/** An HTTP proxy before a libSQL server that shows, and may change, a store's requests to it. */

import { afterAll } from "bun:test";

interface PipelineRequest {
  readonly baton: string | null;
  /** Number of statements in its batch, those around a transaction included. */
  readonly steps: number;
  /** Texts of the statements, in order. */
  readonly texts: readonly string[];
  readonly authorization: string | null;
}

interface Answering {
  /** Forwards the request, with another baton if given, and with more queries after the last step of its batch. */
  forward(baton?: string | null, more?: readonly string[]): Promise<Response>;
  readonly request: PipelineRequest;
}

interface ProxyOptions {
  /** False: the store's change feed is open, and never reports anything. */
  readonly change_feed?: boolean;
}

/** Forwards to `target`; each request of a pipeline is added to `requests`. */
export function startPipelineProxy(target: string, { change_feed = true }: ProxyOptions = {}) {
  const requests: PipelineRequest[] = [];
  let under_way = 0;
  let most_under_way = 0;
  let given_up = 0;
  let answer = ({ forward }: Answering): Promise<Response> => forward();

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(incoming) {
      const { pathname, search } = new URL(incoming.url);
      const authorization = incoming.headers.get("authorization");
      if (!change_feed && pathname === "/beta/listen") {
        server.timeout(incoming, 0);
        return new Response(new ReadableStream());
      }
      if (!pathname.endsWith("/v3/pipeline")) return fetch(`${target}${pathname}${search}`);
      const body = (await incoming.json()) as {
        baton: string | null;
        requests: { batch: { steps: { stmt: { sql: string; want_rows?: boolean } }[] } }[];
      };
      const texts = body.requests.flatMap(({ batch }) => batch.steps.map(({ stmt }) => stmt.sql));
      const request = { baton: body.baton, steps: texts.length, texts, authorization };
      requests.push(request);
      most_under_way = Math.max(most_under_way, ++under_way);
      incoming.signal.addEventListener("abort", () => given_up++);
      const forward = (baton = body.baton, more: readonly string[] = []) => {
        const added = more.map((sql) => ({ stmt: { sql, want_rows: true } }));
        body.requests.at(-1)!.batch.steps.push(...added);
        return fetch(`${target}/v3/pipeline`, {
          method: "POST",
          headers: { "accept-encoding": "identity" },
          body: JSON.stringify({ ...body, baton }),
          signal: incoming.signal,
        });
      };
      try {
        return await answer({ forward, request });
      } finally {
        under_way--;
      }
    },
  });
  afterAll(() => server.stop(true));

  return {
    url: server.url.origin,
    requests,
    /** The most requests that were open at once. */
    mostUnderWay: () => most_under_way,
    /** Requests whose client no longer waits. */
    givenUp: () => given_up,
    /** How requests are answered from now on. */
    answer(by: typeof answer): void {
      answer = by;
    },
  };
}
