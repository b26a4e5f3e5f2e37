/** One request over the SDK's transport, which hands over a single answer unrendered. */

import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  PerRequestHTTPServerTransport,
  SdkError,
  type Server,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { NEW_ERA } from "./server.ts";

/** A response to a request: a result, or an error of JSON-RPC's. */
export interface RpcAnswer {
  readonly id?: unknown;
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
}

interface ExchangeOptions {
  readonly modern: boolean;
  /** False: the client accepts no stream, so it gets no notifications. */
  readonly streams: boolean;
}

/**
 * Becomes a stream only if a notification precedes the answer. Otherwise the transport, which would validate and render
 * the answer again, is not used further.
 */
export class Exchange extends PerRequestHTTPServerTransport {
  readonly #answer = Promise.withResolvers<RpcAnswer>();
  readonly #streams: boolean;
  #streaming = false;

  constructor({ modern, streams }: ExchangeOptions) {
    super({
      classification: modern ? { era: "modern", revision: NEW_ERA } : { era: "legacy" },
    });
    this.#streams = streams;
  }

  /** Null if the client left or cancelled the request. */
  async serve(
    server: Server,
    message: JSONRPCRequest,
    request: Request,
  ): Promise<RpcAnswer | Response | null> {
    try {
      await server.connect(this);
      return await Promise.race([this.#answer.promise, this.handleMessage(message, { request })]);
    } catch (error) {
      if (error instanceof SdkError) return null;
      throw error;
    }
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions) {
    if (!this.#streaming && !("method" in message)) {
      this.#answer.resolve(message as RpcAnswer);
      return;
    }
    if (!this.#streams) return;
    this.#streaming = true;
    await super.send(message, options);
  }
}
