/** MCP annotations of tools. */

import type { ToolMeta } from "../src/rpc/meta.ts";

interface ToolTraits {
  /** It changes nothing. */
  readonly reads?: boolean;
  /** It can undo or overwrite what was there. */
  readonly destroys?: boolean;
  /** Calling it again changes nothing more: `idempotentHint` in MCP. */
  readonly repeats_safely?: boolean;
  /** It reaches someone outside: the person, or another agent. */
  readonly person?: boolean;
}

/** All four annotations of a tool. */
export function hints({
  reads = false,
  destroys = false,
  repeats_safely = reads,
  person = false,
}: ToolTraits): ToolMeta["annotations"] {
  return {
    readOnlyHint: reads,
    destructiveHint: destroys,
    idempotentHint: repeats_safely,
    openWorldHint: person,
  };
}
