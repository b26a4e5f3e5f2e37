/** The commands with their options and help. Each loads what it needs when it runs. */

import tab from "@bomb.sh/tab/commander";
import { Argument, Command, CommanderError, Option } from "commander";
import { VERSION } from "../version.ts";
import { duration, percent } from "./duration.ts";
import { oneLine } from "./escape.ts";
import { examples, JSON_OPTION } from "./help.ts";
import { EXIT, Fault, type Io, OutputFault } from "./io.ts";
import { addServer, addStore } from "./server-commands.ts";

const STATUSES = ["todo", "in_progress", "done", "cancelled"];
const PRIORITIES = ["low", "medium", "high", "urgent"];

/** Seconds that a question may live (§5.7.2). */
const [WAIT_MIN, WAIT_MAX] = [60, 86_400];

type Exit = (code: number) => void;

/**
 * Runs a command line, without the name of the program, and returns its exit code. It is never 0 unless all output
 * was written.
 */
export async function runCommand(io: Io, words: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  const exit: Exit = (its) => {
    code = its;
  };
  try {
    await createProgram(io, exit).parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) code = await report(io, error);
    else if (error.exitCode !== 0) code = EXIT.fault;
  }
  try {
    await io.flush();
    return code;
  } catch (error) {
    return code === EXIT.fault ? code : await report(io, error);
  }
}

/** Prints an error, and returns the exit code for it. */
async function report(io: Io, error: unknown): Promise<number> {
  if (error instanceof OutputFault && error.is_closed) return EXIT.closed;
  io.err(`relay: ${await explain(error)}\n`);
  return EXIT.fault;
}

/** What is wrong and what to do, in one line. */
async function explain(error: unknown): Promise<string> {
  const { RelayError } = await import("../client/error.ts");
  if (error instanceof Fault) return oneLine(error.message);
  if (!(error instanceof RelayError)) {
    const { name, message, code } = error as NodeJS.ErrnoException;
    return oneLine(code === undefined ? `${name}: ${message}` : message);
  }
  const fields = Object.entries(error.fields).map(([field, reason]) => `${field} ${reason}`);
  const advice: Readonly<Record<string, string>> = {
    no_response: ": check that it runs, and run relay health <url>",
    unauthorized: ": run relay login <url>, or check RELAY_KEY",
    forbidden: ": sign in with an agent's key, not with an account's token",
    not_found: ": check the id",
  };
  const text = fields.length > 0 ? fields.join(", ") : error.message.replace(/\.$/, "");
  return oneLine(text + (advice[error.code] ?? ""));
}

function createProgram(io: Io, exit: Exit): Command {
  const program = new Command("relay")
    .description("Ask a person questions, report work to them, and run the Relay server.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand(false)
    // Options after the command of `run` are its own.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) =>
        write(`relay: ${oneLine(text.trim().replace(/^error: /, ""))}\n`),
    })
    .exitOverride();
  addServer(program, io, exit);
  addStore(program, io);
  addAccess(program, io);
  addSetUp(program, io, exit);
  addAsk(program, io, exit);
  addTasks(program, io);
  addRun(program, io, exit);
  addMessages(program, io);
  addHook(program, io);
  tab(program);
  return program;
}

function addAccess(program: Command, io: Io): void {
  program
    .command("login")
    .description("sign in to a server; you approve it on the server's web page")
    .argument("<url>", "address of the server")
    .option("--no-browser", "approve on another device, with a code")
    .option("--with-key", "read a key from standard input instead")
    .addHelpText(
      "after",
      examples(
        "relay login http://127.0.0.1:3000",
        "relay login --no-browser https://relay.example",
        "relay login --with-key http://192.168.1.5:3000 < key.txt",
      ),
    )
    .action(async (url: string, options) => (await import("./login.ts")).login(io, url, options));
  program
    .command("logout")
    .description("sign out, and delete the sign-in on this machine")
    .action(async () => (await import("./login.ts")).logout(io));
}

const LEFT_ALONE =
  "\n\nExit codes: 0 done, 1 you said no, 3 a file was left alone, or another error.";

function addSetUp(program: Command, io: Io, exit: Exit): void {
  const client = () =>
    new Argument("<client>", "Claude Code, Codex, Gemini CLI, Cursor or VS Code").choices([
      ...["claude", "codex", "gemini", "cursor", "vscode"],
    ]);
  const url = ["--url <url>", "address of the server (default: that of your sign-in)"] as const;
  program
    .command("connect")
    .description("add Relay to the configuration of an MCP client; shows the change first")
    .addArgument(client())
    .option(...url)
    .option("--approve", "also send the client's permission prompts to you (claude, codex)")
    .option("--yes", "do not ask for confirmation")
    .option("--print", "print the lines to add by hand, and change nothing")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      examples(
        "relay connect claude",
        "relay connect codex --approve",
        "relay connect vscode --url https://relay.example --yes",
      ) + LEFT_ALONE,
    )
    .action(async (name, options) =>
      exit(await (await import("./connect/connect.ts")).connect(io, name, options)),
    );
  program
    .command("disconnect")
    .description("remove Relay from the configuration of an MCP client")
    .addArgument(client())
    .option(...url)
    .option("--yes", "do not ask for confirmation")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("relay disconnect claude") + LEFT_ALONE)
    .action(async (name, options) =>
      exit(await (await import("./connect/connect.ts")).disconnect(io, name, options)),
    );
  program
    .command("doctor")
    .description("check each hop on the way to the server, and say what to fix")
    .option("--quick", "skip the checks that wait up to a minute")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `${examples("relay doctor", "relay doctor --quick --json")}

With an account's token in RELAY_KEY it also tests the notification channels: each sends you a test.
Exit codes: 0 nothing failed, but there may be warnings; 3 something failed.`,
    )
    .action(async (options) =>
      exit(await (await import("./doctor/doctor.ts")).doctor(io, options)),
    );
}

function addAsk(program: Command, io: Io, exit: Exit): void {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  program
    .command("ask")
    .description("ask the person, wait, and print the answer")
    .argument("<prompt>", "the question; the answer is Yes or No unless an option changes that")
    .option("--choice <label>", "an answer to choose; give 2 to 4", collect)
    .option("--text", "accept any text as the answer")
    .option("--other", "accept other words besides Yes and No or the choices")
    .option("--context <file>", "Markdown that the person needs to decide; - for standard input")
    .option("--draft <file>", "a text to approve or edit; - for standard input")
    .option("--link <url>", "a link for the person")
    .option("--fallback <answer>", "what you do if nobody answers; the person sees it")
    .option("--task <id>", "the task that the question is about")
    .addOption(
      new Option("--wait <time>", "time until the question expires, 1m to 24h")
        .argParser(duration(WAIT_MIN, WAIT_MAX))
        .default(3_600, "1h"),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      examples(
        'relay ask "Deploy?" && ./deploy.sh',
        'relay ask "Where to?" --choice Staging --choice Production',
        'git diff | relay ask "Commit this?" --context - --wait 10m --fallback No',
        'name=$(relay ask "Name of the release?" --text)',
        'relay ask "Send this?" --draft draft.txt > mail.txt && ./send.sh mail.txt',
      ) +
        "\n\nExit codes: 0 yes or any other answer, 1 no, 2 expired or cancelled, 3 error." +
        "\nCtrl-C cancels the question. If the command is killed, run it again: it waits for the same question.",
    )
    .action(async (prompt: string, options) =>
      exit(await (await import("./ask.ts")).ask(io, prompt, options)),
    );
}

function addTasks(program: Command, io: Io): void {
  const tasks = program.command("task").description("report work to the person");
  const description = ["--description <text>", "Markdown"] as const;
  const note = ["--note <text>", "one line about its current state"] as const;
  const priority = () =>
    new Option("--priority <priority>", "how urgent it is").choices(PRIORITIES);
  const status = () => new Option("--status <status>", "its state").choices(STATUSES);
  tasks
    .command("add")
    .description("add a task, and print its id")
    .argument("<title>")
    .option(...description)
    .addOption(priority())
    .addOption(status())
    .option("--quiet", "do not notify the person")
    .option(...JSON_OPTION)
    .addHelpText("after", examples('id=$(relay task add "Ship version 2" --status in_progress)'))
    .action(async (title: string, options) =>
      (await import("./work.ts")).addTask(io, title, options),
    );
  tasks
    .command("set")
    .description("change a task")
    .argument("<id>")
    .option("--title <text>", "new title")
    .option(...description)
    .addOption(priority())
    .addOption(status())
    .option(...note)
    .option("--progress <percent>", "how much is done, 0 to 100", percent)
    .option(...JSON_OPTION)
    .addHelpText("after", examples('relay task set "$id" --progress 60 --note "Running the tests"'))
    .action(async (id: string, options) => (await import("./work.ts")).setTask(io, id, options));
  tasks
    .command("done")
    .description("mark a task as done")
    .argument("<id>")
    .option(...note)
    .option(...JSON_OPTION)
    .addHelpText("after", examples('relay task done "$id" --note "All tests pass"'))
    .action(async (id: string, options) =>
      (await import("./work.ts")).setTask(io, id, { ...options, status: "done" }),
    );
  tasks
    .command("list")
    .description("print the tasks, most recently updated first")
    .addOption(new Option("--status <status...>", "only these states").choices(STATUSES))
    .option(...JSON_OPTION)
    .addHelpText("after", examples("relay task list --status todo --status in_progress"))
    .action(async (options) => (await import("./work.ts")).listTasks(io, options));
}

function addRun(program: Command, io: Io, exit: Exit): void {
  program
    .command("run")
    .description("run a long command, with a task that shows its progress and how it ended")
    .argument("<command...>", "the command with its arguments")
    .option("--title <text>", "title of the task (default: the command)")
    .passThroughOptions()
    .addHelpText(
      "after",
      `${examples('relay run --title "Nightly build" -- make -j4 all', "relay run -- ./migrate.sh | tee log.txt")}

The exit code is that of the command, or 3 if it cannot be started.`,
    )
    .action(async (command: string[], options) => {
      const [{ run }, { runChild }] = await Promise.all([import("./run.ts"), import("./child.ts")]);
      exit(await run(io, command, options, runChild));
    });
}

function addMessages(program: Command, io: Io): void {
  program
    .command("inbox")
    .description("print the unread items, and mark them as read")
    .option("--follow", "keep printing new items until Ctrl-C")
    .option("--peek", "leave the items unread")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("relay inbox", "relay inbox --follow --json | jq -r .text"))
    .action(async (options) => (await import("./work.ts")).readInbox(io, options));
  program
    .command("say")
    .description("send a message to another agent")
    .argument("<agent>", "its name or id")
    .argument("<text>")
    .option(...JSON_OPTION)
    .addHelpText("after", examples('relay say builder "The tests pass"'))
    .action(async (agent: string, text: string, options) =>
      (await import("./work.ts")).say(io, agent, text, options),
    );
}

function addHook(program: Command, io: Io): void {
  program
    .command("hook")
    .description("ask the person for a coding agent's permission; the command for its hook")
    .addArgument(
      new Argument("<client>", "the client that runs the hook").choices([
        "claude",
        "codex",
        "gemini",
      ]),
    )
    .addOption(
      new Option(
        "--wait <time>",
        "time for the answer, 10s to 10m (default: claude 590s, codex 2m, gemini 50s)",
      ).argParser(duration(10, 600)),
    )
    .option(
      "--server <name>",
      "name of Relay's MCP server in the client; its tools need no permission (default: relay)",
    )
    .addHelpText(
      "after",
      `${examples("relay hook claude < request.json", "relay hook codex --wait 5m")}

It reads the client's JSON from standard input, and prints the answer as the client's JSON. It prints nothing
if there is no answer: the client's own prompt then decides. The exit code is 0.`,
    )
    .action(async (client: "claude" | "codex" | "gemini", options) => {
      const { hook } = await import("./hook.ts");
      await hook(io, client, options);
      // Its exit code is 0 whatever happens: clients have meanings of their own for others.
      await io.flush().catch(() => {});
    });
}
