/** The executable: `relay serve` is the server, the other commands are clients of one. */

import { Command, CommanderError } from "commander";
import { VERSION } from "../version.ts";

/** Exit code of a fault, so that 1 and 2 are free for answers. */
const FAULT = 3;

const program = new Command("relay")
  .description("Agents exchange work and questions with a person.")
  .version(VERSION, "-V, --version", "print the version")
  .helpOption("-h, --help", "show help")
  .helpCommand(false)
  .exitOverride();

program
  .command("serve")
  .description("run the server, configured by environment variables")
  .addHelpText("after", "\nExample:\n  PORT=8080 ACCOUNT_CREATION=first relay serve")
  .action(async () => {
    // The other commands do not load the server.
    await import("../main.ts").catch((error: unknown) => {
      if (!/\.node\b/.test(String(error))) throw error;
      throw new Error(
        "the native part of libSQL cannot be unpacked: set BUN_TMPDIR to a folder that can be written",
      );
    });
  });

program
  .command("health")
  .description("print the state of a server; exits with 0 if it can be used, and 1 if not")
  .argument("[url]", "its address; PORT of this machine if absent")
  .addHelpText("after", "\nExample:\n  relay health http://127.0.0.1:3000")
  .action(async (url: string = `http://127.0.0.1:${process.env.PORT || 3000}`) => {
    const { checkHealth } = await import("./health.ts");
    const { ok, text } = await checkHealth(url);
    process.stdout.write(`${text}\n`);
    process.exitCode = ok ? 0 : 1;
  });

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has said what is wrong.
    process.exitCode = error.exitCode === 0 ? 0 : FAULT;
  } else {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`relay: ${text.split("\n")[0]}\n`);
    process.exit(FAULT);
  }
}
