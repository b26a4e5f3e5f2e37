/** What `bun run interop` tries Relay with: clients that other people wrote. */

/** Columns of each surface's table, in order. */
export const CHECKS = {
  rest: [
    "generate",
    "compile",
    "account",
    "task",
    "ask",
    "inbox",
    "lists",
    "events",
    "error",
    "timestamps",
  ],
  mcp: ["list", "call", "ask", "pending", "cancel", "error"],
  webhooks: ["verify", "refuse"],
  prompts: [
    "allow",
    "deny",
    "page",
    "local yes",
    "local no",
    "two",
    "nobody",
    "away",
    "killed",
    "long",
  ],
} as const;

export type Surface = keyof typeof CHECKS;

/** `ok`: works. `none`: not tried, or the client has no such feature. Otherwise what went wrong, in a line. */
export type Outcome = "ok" | "none" | { readonly fault: string };

export interface Result {
  /** The client's version, as its users name it. */
  readonly version: string;
  /** By check of `CHECKS`; a missing check counts as `none`. */
  readonly checks: Readonly<Record<string, Outcome>>;
}

/** A client. A file of `rest/`, `mcp/`, `webhooks/` or `prompts/` exports its clients as `clients`. */
export interface Client {
  /** The name that its users know; no other client has it. */
  readonly name: string;
  readonly surface: Surface;
  /** Programs that must be on the PATH, such as `go`; the client is skipped without them. */
  readonly needs: readonly string[];
  /** Installs or generates the client in `context.dir` and tries it. An exception is a fault. */
  run(context: Context): Promise<Result>;
}

interface ExecOptions {
  /** Relative to the client's folder, which is the default. */
  readonly cwd?: string;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Seconds until it is ended; default 600. */
  readonly seconds?: number;
}

export interface Context {
  /**
   * Address of a running Relay without rate limits. For a REST client its responses have members that the
   * document does not name (§1.3.9).
   */
  readonly url: string;
  /** The path of an empty folder for the client, which is removed when the run ends. */
  readonly dir: string;
  /** Whether checks that take minutes are requested. */
  readonly long: boolean;
  /** Runs a program to its end and returns its standard output; throws with the end of its output. */
  exec(command: readonly string[], options?: ExecOptions): Promise<string>;
  /** Writes a file in the folder, and creates the folders above it. */
  write(path: string, content: string): Promise<void>;
}
