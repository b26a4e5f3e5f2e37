/** Client ID metadata documents: a client whose `client_id` is the address of its description (§18.3.4). */

import { z } from "zod";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import { type createOutbound, OutboundError } from "../outbound/guard.ts";
import { type Client, nameOf } from "./clients.ts";
import { isRedirectUri } from "./redirects.ts";

const Document = z.object({
  client_id: z.string(),
  client_name: z.string().nullish(),
  redirect_uris: z.array(z.string()).min(1),
  token_endpoint_auth_method: z.string().nullish(),
});

/** Why there is no client: a sentence for the person. */
export class ClientDocumentError extends Error {
  override readonly name = "ClientDocumentError";
}

export type Outbound = Pick<ReturnType<typeof createOutbound>, "request">;

/** Fetches and checks the document at `url` for the account `owner`. Throws {@link ClientDocumentError}. */
export async function fetchClientDocument(
  outbound: Outbound,
  url: string,
  owner: string,
): Promise<Client> {
  const { status, body } = await outbound
    .request({
      url,
      owner,
      method: "GET",
      headers: { accept: "application/json" },
      max_bytes: LIMITS.client_document_bytes,
      seconds: LIMITS.client_document_seconds,
    })
    .catch((error: unknown) => {
      if (!(error instanceof OutboundError)) throw error;
      throw new ClientDocumentError(
        error.fault === "forbidden_address" || error.fault === "invalid_url"
          ? "Its description is at an address that this server does not open."
          : "Its description could not be loaded.",
      );
    });
  if (status !== 200) throw new ClientDocumentError("Its description could not be loaded.");
  const document = parse(body);
  if (document?.client_id !== url) {
    throw new ClientDocumentError("Its description is not valid.");
  }
  if ((document.token_endpoint_auth_method ?? "none") !== "none") {
    throw new ClientDocumentError("It is not a public client.");
  }
  return {
    digest: digest(url),
    name: nameOf(document.client_name),
    redirect_uris: document.redirect_uris.filter(isRedirectUri),
  };
}

function parse(body: Buffer): z.infer<typeof Document> | null {
  try {
    return Document.safeParse(JSON.parse(body.toString())).data ?? null;
  } catch {
    return null;
  }
}
