/** A session of MCP, which a client begins with `initialize` (docs/interface.md 12.2). */
export interface McpSession {
  readonly id: string;
  /** A timestamp; null in a session that a version before this field has begun. */
  readonly began_at: number | null;
}
