/** The official SDKs sign in by OAuth, from the first 401 to a refresh, with their own code (§18). */

import { expect, test } from "bun:test";
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { CLIENT } from "../support/mcp.ts";
import { answerOf, refresh, sealedOf } from "../support/oauth.ts";
import { MemoryProvider } from "../support/oauth-client.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const person = await createPerson(app.url);
const DAY = 86_400;

/** A transport of each SDK line, and a client that uses it. */
const LINES = {
  "1.x": (url: URL, authProvider: MemoryProvider) => {
    const open = () => new OldTransport(url, { authProvider });
    return {
      open,
      connect: (transport: unknown) => connected(new OldClient(CLIENT), transport as never),
    };
  },
  "2.x": (url: URL, authProvider: MemoryProvider) => {
    const open = () => new NewTransport(url, { authProvider: authProvider as never });
    return {
      open,
      connect: (transport: unknown) => connected(new NewClient(CLIENT), transport as never),
    };
  },
} as const;

async function connected<C extends { connect(transport: never): Promise<unknown> }>(
  client: C,
  transport: never,
): Promise<C> {
  await client.connect(transport);
  return client;
}

for (const [line, make] of Object.entries(LINES)) {
  for (const host of ["127.0.0.1", "localhost"]) {
    test(`the ${line} client signs in at ${host}, calls a tool and refreshes its tokens`, async () => {
      const url = new URL(app.url.replace("127.0.0.1", host));
      const provider = new MemoryProvider();
      const { open, connect } = make(new URL("/mcp", url), provider);
      const first = open();
      expect(await connect(first).catch(({ name, message }) => `${name} ${message}`)).toContain(
        "nauthorized",
      );
      const { address } = provider.kept as { address: URL };
      expect([address.origin, address.pathname]).toEqual([url.origin, "/oauth/authorize"]);
      const asked = await fetch(address, { redirect: "manual" });
      const approved = await person.send("POST /v1/oauth/approve", { request: sealedOf(asked) });
      const { code, iss, state } = answerOf(approved.body.redirect_to);
      expect([iss, state]).toEqual([url.origin, "sdk-state"]);
      await (first as { finishAuth(code: string, iss?: string): Promise<void> }).finishAuth(
        code!,
        iss,
      );
      const client = (await connect(open())) as NewClient;
      const name = "create_task";
      const { structuredContent } = await client.callTool({ name, arguments: { title: line } });
      expect(structuredContent).toMatchObject({ title: line, key_id: approved.body.key.id });

      const before = provider.kept.tokens;
      await clock.skip(DAY);
      // Three calls at once find the token expired, and each may refresh it.
      const lists = await Promise.all([1, 2, 3].map(() => client.listTools()));
      for (const { tools } of lists) expect(tools.length).toBeGreaterThan(8);
      expect(provider.kept.tokens.access_token).not.toBe(before.access_token);
      await client.close();
      // The tokens that it kept are the valid ones.
      const { status } = await refresh(app.url, provider.kept.tokens.refresh_token);
      expect(status).toBe(200);
    });
  }
}
