/** The account: a person's settings and the owner of everything else (interface.md §2 Account). */

import { z } from "zod";
import { Timestamp } from "./text.ts";

const Settings = z.object({
  live_activities: z.boolean().meta({ description: "Whether tasks show as live activities" }),
});

export const Account = z
  .object({ id: z.string(), created_at: Timestamp, settings: Settings })
  .meta({ id: "Account" });
export type Account = z.infer<typeof Account>;

/** Body of `PATCH /v1/account`. */
export const AccountPatch = z.strictObject({ settings: Settings.strict() });
export type AccountPatch = z.infer<typeof AccountPatch>;
