/** The activity log of a key: what was asked, when, and how it ended (interface.md §2 Activity entry). */

import { z } from "zod";
import type { ServiceError } from "../errors.ts";
import type { KeyCaller } from "./caller.ts";
import { Timestamp } from "./text.ts";

const SURFACES = ["mcp", "rest"] as const;

const Client = z.object({ name: z.string(), version: z.string() });

export const ActivityEntry = z
  .object({
    id: z.string(),
    at: Timestamp.meta({ description: "When the request came" }),
    surface: z.enum(SURFACES),
    action: z.string().meta({ description: "Method and route, or the name of a tool" }),
    status: z.enum(["ok", "error"]),
    code: z.string().nullable().meta({ description: "Null for `ok`" }),
    message: z.string().nullable(),
    duration_ms: z.int().min(0).meta({ description: "Milliseconds, any wait included" }),
    client: Client.nullable(),
    host: z.string().nullable(),
  })
  .meta({ id: "ActivityEntry" });
export type ActivityEntry = z.infer<typeof ActivityEntry>;

/** A request of a key that has ended, as a surface hands it to the log. It holds no content. */
export interface KeyRequest {
  readonly caller: KeyCaller;
  /** When it came, epoch seconds. */
  readonly at: number;
  readonly surface: ActivityEntry["surface"];
  /** Method and route with parameter names, or what names an MCP request; never an id. */
  readonly action: string;
  /** Null when it succeeded. */
  readonly error: ServiceError | null;
  /** From its start to its answer. */
  readonly duration_ms: number;
  /** The MCP `clientInfo`; null for REST. */
  readonly client: ActivityEntry["client"];
  readonly host: string | null;
}
