/** OAuth as the person sees it: a client's request for access (§2.14), and the access it got (§2.13). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Key } from "./key.ts";
import { Timestamp, text } from "./text.ts";

export const Authorization = z
  .object({
    client_name: z
      .string()
      .nullable()
      .meta({ description: "The client's own name for itself, unverified; null if it sent none" }),
    client_host: z.string().nullable().meta({
      description: "Host of the web site that gets access; null for a program on this computer",
    }),
    document_host: z.string().nullable().meta({
      description:
        "Host of the document that describes the client, to which it therefore belongs; null if none",
    }),
    suggested_key_id: z.string().nullable().meta({
      description: "A key that a client with this name used before; null if there is none",
    }),
    requested_at: Timestamp,
    expires_at: Timestamp,
    approval: z
      .object({
        code: z.string().meta({ description: "The code that the other device shows" }),
        address: z.string().meta({ description: "Its IP address" }),
      })
      .nullable()
      .meta({
        description: "Set for a request from another device; null for one from this browser",
      }),
  })
  .meta({ id: "Authorization" });
export type Authorization = z.infer<typeof Authorization>;

/** Access that a person gave a client. */
export const Grant = z
  .object({
    id: z.string(),
    client_name: z.string().nullable().meta({
      description: "The client's own name for itself, unverified; null if it sent none",
    }),
    client_host: z.string().nullable().meta({
      description: "Host of the web site that got access; null for a program on a computer",
    }),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    expires_at: Timestamp.meta({ description: "When it ends if it is not used" }),
  })
  .meta({ id: "Grant" });
export type Grant = z.infer<typeof Grant>;

/** The result of an approval. */
export const Approved = z
  .object({
    key: Key,
    redirect_to: z.string().nullable().meta({
      description: "Where to send this browser; null if the other device continues",
    }),
  })
  .meta({ id: "AuthorizationApproved" });

export const Denied = z
  .object({ redirect_to: z.string().nullable() })
  .meta({ id: "AuthorizationDenied" });

/** The secret with which a browser without a sign-in waits. */
export const Approval = z
  .object({
    code: z.string().meta({ description: "8 characters as `XXXX-XXXX`, for a person to compare" }),
    url: z
      .string()
      .nullable()
      .meta({ description: "For a QR code: opens the web page on another device" }),
    no_url_reason: z
      .string()
      .nullable()
      .meta({ description: "Why there is no `url`, for people; null with one" }),
    secret: z
      .string()
      .meta({ description: "The secret with which this browser waits for the decision" }),
    expires_at: Timestamp,
  })
  .meta({ id: "Approval" });
export type Approval = z.infer<typeof Approval>;

export const ApprovalState = z
  .object({
    status: z.enum(["waiting", "approved", "denied", "ended"]).meta({ id: "ApprovalStatus" }),
    redirect_to: z.string().nullable(),
  })
  .meta({ id: "ApprovalState" });
export type ApprovalState = z.infer<typeof ApprovalState>;

/** The last part of `#/authorize/…`, or where it may be one, a code as a person types it. */
export const SealedRequest = text({ max: LIMITS.authorization_request });
export const ApprovalSecret = text({ max: LIMITS.approval_secret });
