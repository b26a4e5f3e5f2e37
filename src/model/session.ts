/** A sign-in of an account (§2.9). */

import { z } from "zod";
import { CREDENTIAL_MAKERS } from "./caller.ts";
import { Timestamp } from "./text.ts";

/** The label of a sign-in whose client gave none. */
export const UNNAMED = "Unnamed device";

const SessionMaker = z.enum(CREDENTIAL_MAKERS).meta({
  id: "SessionMaker",
  description:
    "How it was created: with the account, by a code of another sign-in, by a code of the administrator, or by a recovery code",
});

export const Session = z
  .object({
    id: z.string(),
    label: z.string(),
    current: z.boolean().meta({ description: "True for the sign-in that sent the request" }),
    made_by: SessionMaker,
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    trial_ends_at: Timestamp.nullable().meta({
      description:
        "Until then it has fewer rights, unless it is the only one; null for one created with the account or confirmed by another sign-in",
    }),
    address: z.string().nullable().meta({
      description: "Address from which the code was used; null without a code",
    }),
  })
  .meta({ id: "Session" });
export type Session = z.infer<typeof Session>;
