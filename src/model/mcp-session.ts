/** An MCP session, which a client begins with `initialize` (§12.2). */

export interface McpSession {
  readonly id: string;
  /** Epoch seconds; null for a session of a version without this field. */
  readonly began_at: number | null;
}
