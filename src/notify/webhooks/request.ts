/** Makes the request of a webhook message, in the form of Standard Webhooks (§19.4.2); pure. */

import { createHmac } from "node:crypto";
import type { OutboundRequest } from "../../outbound/guard.ts";
import { VERSION } from "../../version.ts";

export interface WebhookMessage {
  /** `webhook-id`: the same in all attempts. */
  readonly id: string;
  readonly type: string;
  /** When it happened, in epoch seconds. */
  readonly created_at: number;
  /** JSON text. */
  readonly data: string;
}

export interface WebhookTarget {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
}

/** `now`: epoch seconds of the attempt; the signature covers them. `traceparent`: the header of W3C; null for none. */
export function webhookRequest(
  { id, type, created_at, data }: WebhookMessage,
  { url, secret }: WebhookTarget,
  now: number,
  traceparent: string | null = null,
): Omit<OutboundRequest, "owner"> {
  const at = new Date(Math.round(created_at * 1000)).toISOString();
  const body = `{"type":${JSON.stringify(type)},"timestamp":"${at}","data":${data}}`;
  const timestamp = String(Math.floor(now));
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    url,
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": `Relay/${VERSION}`,
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
      ...(traceparent !== null && { traceparent }),
    },
  };
}
