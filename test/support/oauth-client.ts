/** MCP clients that sign in by OAuth with the official SDKs' code. */

import { afterAll } from "bun:test";
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { REDIRECT } from "./oauth.ts";

/** What a program stores, kept in memory, with the address where it sends the person. For both SDK lines. */
export class MemoryProvider implements OAuthClientProvider {
  readonly kept: Record<string, any> = {};
  readonly redirectUrl: string;
  readonly clientMetadata;
  constructor(name = "SDK client", redirect = REDIRECT) {
    this.redirectUrl = redirect;
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }
  state = () => "sdk-state";
  clientInformation = () => this.kept.client;
  saveClientInformation(client: unknown) {
    this.kept.client = client;
  }
  tokens = () => this.kept.tokens;
  saveTokens(tokens: unknown) {
    this.kept.tokens = tokens;
  }
  redirectToAuthorization(address: URL) {
    this.kept.address = address;
  }
  saveCodeVerifier(verifier: string) {
    this.kept.verifier = verifier;
  }
  codeVerifier = () => this.kept.verifier;
  // In the new line: what it has discovered about the server.
  discoveryState = () => this.kept.discovery;
  saveDiscoveryState(discovery: unknown) {
    this.kept.discovery = discovery;
  }
}

interface SignIn {
  /** Address of the endpoint, `…/mcp`. */
  readonly url: string;
  readonly name: string;
  /** Opens an address in the person's browser, where the person approves. */
  readonly open: (address: URL) => Promise<void>;
}

/** Connects like a coding agent: opens a browser, and receives the response at a loopback address. */
export async function connectInBrowser({ url, name, open }: SignIn): Promise<Client> {
  const answered = Promise.withResolvers<URLSearchParams>();
  const listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/callback") return new Response(null, { status: 404 });
      answered.resolve(searchParams);
      return new Response("You can close this tab.");
    },
  });
  afterAll(() => listener.stop(true));
  const redirect = `http://127.0.0.1:${listener.port}/callback`;
  const provider = new MemoryProvider(name, redirect);
  const connect = async () => {
    const client = new Client({ name, version: "1.2.3" }, { versionNegotiation: { mode: "auto" } });
    const authProvider = provider as never;
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    const refused = await client.connect(transport).then(
      () => null,
      (error: unknown) => error,
    );
    return { client, transport, refused };
  };
  const first = await connect();
  if (!(first.refused instanceof UnauthorizedError)) throw first.refused;
  await open(provider.kept.address);
  const answer = await answered.promise;
  if (answer.get("state") !== provider.state()) throw new Error("the answer to another request");
  await first.transport.finishAuth(answer);
  const { client, refused } = await connect();
  if (refused !== null) throw refused;
  return client;
}
