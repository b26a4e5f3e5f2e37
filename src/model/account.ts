/** The account: a person's settings and the owner of everything else (§2.1). */

import { z } from "zod";
import { Timestamp } from "./text.ts";

const LiveActivities = z.boolean().meta({ description: "Whether tasks show as live activities" });
const WithNudges = z.boolean().meta({
  description: "Whether a question that nobody has answered rings once more before it expires",
});
const Settings = z
  .object({ live_activities: LiveActivities, nudges: WithNudges })
  .meta({ id: "AccountSettings" });
const SettingsUpdate = z
  .strictObject({
    live_activities: LiveActivities.exactOptional(),
    nudges: WithNudges.exactOptional(),
  })
  .refine((settings) => Object.keys(settings).length > 0, "must have a setting")
  .meta({ id: "AccountSettingsUpdate", minProperties: 1 });

const Storage = z
  .object({
    bytes: z.int().min(0).meta({ description: "Bytes that the account stores, within a tenth" }),
    max_bytes: z
      .int()
      .nullable()
      .meta({ description: "How many it may store; null: any number. More is `409 account_full`" }),
  })
  .meta({ id: "AccountStorage" });

export const Account = z
  .object({ id: z.string(), created_at: Timestamp, settings: Settings, storage: Storage })
  .meta({ id: "Account" });
export type Account = z.infer<typeof Account>;

/** A token in the form that the server makes: `mca_` and 256 random bits in base64url. */
export const AccountToken = z
  .string()
  .refine(
    (value) => /^mca_[A-Za-z0-9_-]{43}$/.test(value),
    "must be mca_ and 43 characters of base64url",
  )
  .meta({ pattern: "^mca_[A-Za-z0-9_-]{43}$" });

/** Body of `POST /v1/account/token` (§5.2.4). A client that makes the token has it even if the response is lost. */
export const TokenInput = z
  .strictObject({
    token: AccountToken.exactOptional().meta({
      description:
        "A new token that the client makes from 256 random bits; if absent, the server makes one. Store it before you send it: if the response is lost, one of the two tokens is valid, and the request can be sent again with it",
    }),
  })
  .meta({ id: "TokenReplacement" });

/** Body of `PATCH /v1/account`. */
export const AccountPatch = z
  .strictObject({ settings: SettingsUpdate })
  .meta({ id: "AccountUpdate" });
export type AccountPatch = z.infer<typeof AccountPatch>;
