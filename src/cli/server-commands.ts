/** The commands for whoever runs the server: `serve`, `health` and `why`, and those of its store. */

import { type Command, Option } from "commander";
import { count } from "./duration.ts";
import { oneLine } from "./escape.ts";
import { examples, JSON_OPTION } from "./help.ts";
import { EXIT, Fault, type Io } from "./io.ts";

export function addServer(program: Command, io: Io, exit: (code: number) => void): void {
  program
    .command("serve")
    .description("run the server, configured by environment variables")
    .addHelpText("after", examples("PORT=8080 ACCOUNT_CREATION=first relay serve"))
    .action(async () => {
      await import("../main.ts").catch((error: unknown) => {
        if (!/\.node\b/.test(String(error))) throw error;
        throw new Fault(
          "the native part of libSQL cannot be unpacked: set BUN_TMPDIR to a writable folder",
        );
      });
    });
  program
    .command("health")
    .description("print the state of a server; exits with 0 if it is usable, 1 if not")
    .argument("[url]", "address of the server (default: PORT on this machine)")
    .option("--live", "ask only whether the process answers, whatever the state of its store")
    .addHelpText("after", examples("relay health http://127.0.0.1:3000"))
    .action(async (url: string | undefined, { live }: { live?: boolean }) => {
      const { checkHealth, checkLive } = await import("./health.ts");
      const address = url ?? `http://127.0.0.1:${io.env.PORT || 3000}`;
      const { ok, text } = await (live ? checkLive : checkHealth)(address);
      io.out(`${oneLine(text)}\n`);
      exit(ok ? EXIT.done : EXIT.no);
    });
  program
    .command("why")
    .description("tell what became of a question, and why it reached nobody; for the administrator")
    .argument("<id>", "id of the question")
    .option("--url <url>", "address of the server (default: RELAY_URL, or PORT on this machine)")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("ADMIN_TOKEN_FILE=admin-token relay why qst_01a2..."))
    .action(async (id: string, options) => (await import("./why.ts")).why(io, id, options));
}

const OF_STORE =
  "\n\nThe store is that of DATABASE_URL, with DATABASE_AUTH_TOKEN and DATABASE_ENCRYPTION_KEY or their _FILE, as for relay serve.";

export function addStore(program: Command, io: Io): void {
  program
    .command("backup")
    .description("copy the store into a file while the server runs, and check the copy")
    .argument("<file>", "the backup; replaces an earlier one")
    .option("--keep <n>", "put the time into the name, and keep the newest n of them", count)
    .addOption(new Option("--at <time>", "epoch seconds by the server that starts this").hideHelp())
    .addHelpText(
      "after",
      examples("relay backup backup/relay.db", "relay backup backup/relay.db --keep 14") +
        OF_STORE +
        " A libSQL server can be read through a replica, at BACKUP_URL.",
    )
    .action(async (file: string, options) =>
      (await import("./backup.ts")).backup(io, file, options),
    );
  program
    .command("restore")
    .description("restore a backup where no store is yet, without sending again what was waiting")
    .argument("<file>", "the backup")
    .option("--as-copy", "change nothing: send what was waiting, and accept every token")
    .option("--old <file>", "the store that it replaces: what ended there, ends here")
    .addHelpText(
      "after",
      examples("relay restore backup/relay.db --old data/relay.db.old") + OF_STORE,
    )
    .action(async (file: string, options) =>
      (await import("./backup.ts")).restore(io, file, options),
    );
  program
    .command("migrate")
    .description("move a store: from a file to a libSQL server, or back; stop Relay first")
    .argument("<from>", "URL of the store, or path of its file")
    .argument("<to>", "where no store is yet")
    .addHelpText("after", examples("relay migrate data/relay.db http://127.0.0.1:8080"))
    .action(async (from: string, to: string) =>
      (await import("./backup.ts")).migrate(io, from, to),
    );
  program
    .command("rekey")
    .description("encrypt the store with another key, or with none; stop Relay first")
    .option("--new-key-file <file>", "file with the new key, as openssl rand -base64 32 makes it")
    .option("--remove-key", "decrypt the store instead")
    .addHelpText(
      "after",
      examples(
        "relay rekey --new-key-file relay.key",
        "DATABASE_ENCRYPTION_KEY_FILE=relay.key relay rekey --new-key-file relay-2.key",
        "DATABASE_ENCRYPTION_KEY_FILE=relay.key relay rekey --remove-key",
      ) + OF_STORE,
    )
    .action(async (options) => (await import("./rekey.ts")).rekeyStore(io, options));
}
