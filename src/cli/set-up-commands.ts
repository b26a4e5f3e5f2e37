/** The commands that connect agents and check the way to the server. */

import { Argument, type Command } from "commander";
import type { Io } from "./io.ts";
import { examples, json } from "./options.ts";

const client = () =>
  new Argument("<client>", "Claude Code, Codex, Gemini CLI, Cursor or VS Code").choices([
    "claude",
    "codex",
    "gemini",
    "cursor",
    "vscode",
  ]);

const LEFT_ALONE =
  "\n\nExit codes: 0 done, 1 you said no, 3 the file was left alone, or another fault.";

export function addSetUp(program: Command, io: Io, exit: (code: number) => void): void {
  program
    .command("connect")
    .description("add Relay to the configuration of an MCP client, which is shown first")
    .addArgument(client())
    .option("--url <url>", "address of the server; that of relay login if absent")
    .option("--approve", "put the client's prompts for permission to the person (claude, codex)")
    .option("--yes", "do not ask")
    .option("--print", "print the lines to add by hand, and change nothing")
    .addOption(json())
    .addHelpText(
      "after",
      examples(
        "relay connect claude",
        "relay connect codex --approve",
        "relay connect vscode --url https://relay.example --yes",
      ) + LEFT_ALONE,
    )
    .action(async (name, options) => {
      const { connect } = await import("./connect/connect.ts");
      exit(await connect(io, name, options));
    });
  program
    .command("disconnect")
    .description("take Relay out of the configuration of an MCP client")
    .addArgument(client())
    .option("--url <url>", "address of the server; that of relay login if absent")
    .option("--yes", "do not ask")
    .addOption(json())
    .addHelpText("after", examples("relay disconnect claude") + LEFT_ALONE)
    .action(async (name, options) => {
      const { disconnect } = await import("./connect/connect.ts");
      exit(await disconnect(io, name, options));
    });
  program
    .command("doctor")
    .description("check each hop of the way to the server, with its time and what to do")
    .option("--quick", "skip the waits of up to a minute")
    .addOption(json())
    .addHelpText(
      "after",
      `${examples("relay doctor", "relay doctor --quick --json")}

Notification channels are tested with the token of an account in RELAY_KEY: each sends you a test.
Exit codes: 0 all is well but for warnings, 3 something failed.`,
    )
    .action(async (options) => {
      const { doctor } = await import("./doctor/doctor.ts");
      exit(await doctor(io, options));
    });
}
