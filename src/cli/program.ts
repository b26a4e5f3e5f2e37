/** The commands with their options and help. Each loads what it needs when it runs. */

import tab from "@bomb.sh/tab/commander";
import { Argument, Command, CommanderError, Option } from "commander";
import { VERSION } from "../version.ts";
import { collect, duration, percent } from "./duration.ts";
import { oneLine } from "./escape.ts";
import { EXIT, Fault, type Io, OutputFault } from "./io.ts";
import { examples, json } from "./options.ts";
import { addSetUp } from "./set-up-commands.ts";

const STATUSES = ["todo", "in_progress", "done", "cancelled"] as const;
const PRIORITIES = ["low", "medium", "high", "urgent"] as const;

/** The seconds that a question may live (§5.7.2). */
const [WAIT_MIN, WAIT_MAX] = [60, 86_400];

/**
 * Runs a command line, without the name of the program, and gives its exit code. That is never the one of
 * success unless all output was written.
 */
export async function runCommand(io: Io, words: readonly string[]): Promise<number> {
  const code = await runWords(io, words);
  try {
    await io.flush();
    return code;
  } catch (error) {
    if (code === EXIT.fault) return code;
    if (error instanceof OutputFault && error.is_closed) return EXIT.closed;
    io.err(`relay: ${await explain(error)}\n`);
    return EXIT.fault;
  }
}

async function runWords(io: Io, words: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  const program = createProgram(io, (its) => {
    code = its;
  });
  try {
    await program.parseAsync(words, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof OutputFault && error.is_closed) return EXIT.closed;
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.fault;
    io.err(`relay: ${await explain(error)}\n`);
    return EXIT.fault;
  }
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
    forbidden: ": sign in with a key of an agent, not with the token of an account",
    not_found: ": check the id",
  };
  const text = fields.length > 0 ? fields.join(", ") : error.message.replace(/\.$/, "");
  return oneLine(text + (advice[error.code] ?? ""));
}

function createProgram(io: Io, exit: (code: number) => void): Command {
  const program = new Command("relay")
    .description("Agents exchange work and questions with a person.")
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

function addServer(program: Command, io: Io, exit: (code: number) => void): void {
  program
    .command("serve")
    .description("run the server, configured by environment variables")
    .addHelpText("after", examples("PORT=8080 ACCOUNT_CREATION=first relay serve"))
    .action(async () => {
      // The other commands do not load the server.
      await import("../main.ts").catch((error: unknown) => {
        if (!/\.node\b/.test(String(error))) throw error;
        throw new Fault(
          "the native part of libSQL cannot be unpacked: set BUN_TMPDIR to a folder that can be written",
        );
      });
    });
  program
    .command("health")
    .description("print the state of a server; exits with 0 if it can be used, and 1 if not")
    .argument("[url]", "its address; PORT of this machine if absent")
    .addHelpText("after", examples("relay health http://127.0.0.1:3000"))
    .action(async (url: string = `http://127.0.0.1:${io.env.PORT || 3000}`) => {
      const { checkHealth } = await import("./health.ts");
      const { ok, text } = await checkHealth(url);
      io.out(`${oneLine(text)}\n`);
      exit(ok ? EXIT.done : EXIT.no);
    });
}

function addAccess(program: Command, io: Io): void {
  program
    .command("login")
    .description("get access to a server, which you approve on its page")
    .argument("<url>", "its address")
    .option("--no-browser", "approve it on another device, by a code")
    .option("--with-key", "read a key from the standard input instead")
    .addHelpText(
      "after",
      examples(
        "relay login http://127.0.0.1:3000",
        "relay login --no-browser https://relay.example",
        "relay login --with-key http://192.168.1.5:3000 < key.txt",
      ),
    )
    .action(async (url: string, options) => {
      const { login } = await import("./login.ts");
      await login(io, url, options);
    });
  program
    .command("logout")
    .description("end the access, and forget it here")
    .action(async () => {
      const { logout } = await import("./login.ts");
      await logout(io);
    });
}

function addAsk(program: Command, io: Io, exit: (code: number) => void): void {
  program
    .command("ask")
    .description("ask the person, wait, and print the answer")
    .argument(
      "<prompt>",
      "the question; to be answered by Yes or No unless an option says otherwise",
    )
    .option("--choice <label>", "an answer to choose; give it 2 to 4 times", collect)
    .option("--text", "take any text as the answer")
    .option("--other", "take other words than Yes and No or the choices too")
    .option("--context <file>", "Markdown that the person needs to decide; - for standard input")
    .option("--link <url>", "a link for the person")
    .option("--fallback <answer>", "the answer to go by if nobody answers, which the person sees")
    .option("--task <id>", "the task that it is about")
    .addOption(
      new Option("--wait <time>", "time until it expires, 1m to 24h")
        .argParser(duration(WAIT_MIN, WAIT_MAX))
        .default(3_600, "1h"),
    )
    .addOption(json())
    .addHelpText(
      "after",
      examples(
        'relay ask "Deploy?" && ./deploy.sh',
        'relay ask "Where to?" --choice Staging --choice Production',
        'git diff | relay ask "Commit this?" --context - --wait 10m --fallback No',
        'name=$(relay ask "Name of the release?" --text)',
      ) +
        "\n\nExit codes: 0 yes or another answer, 1 no, 2 expired or cancelled, 3 a fault." +
        "\nCtrl-C cancels the question. Killed and started again, it waits for the same question.",
    )
    .action(async (prompt: string, options) => {
      const { ask } = await import("./ask.ts");
      exit(await ask(io, prompt, options));
    });
}

function addTasks(program: Command, io: Io): void {
  const tasks = program.command("task").description("report work");
  const title = () => new Option("--title <text>", "new title");
  const description = () => new Option("--description <text>", "Markdown");
  const priority = () =>
    new Option("--priority <priority>", "how urgent it is").choices(PRIORITIES);
  const status = () => new Option("--status <status>", "its state").choices(STATUSES);
  const note = () => new Option("--note <text>", "one line about where it stands");
  tasks
    .command("add")
    .description("add a task, and print its id")
    .argument("<title>")
    .addOption(description())
    .addOption(priority())
    .addOption(status())
    .option("--quiet", "do not notify the person")
    .addOption(json())
    .addHelpText("after", examples('id=$(relay task add "Ship version 2" --status in_progress)'))
    .action(async (title: string, { json, quiet, ...rest }) => {
      const { addTask } = await import("./work.ts");
      await addTask(io, { title, ...rest, ...(quiet && { notify: false }) }, { json });
    });
  tasks
    .command("set")
    .description("change a task")
    .argument("<id>")
    .addOption(title())
    .addOption(description())
    .addOption(priority())
    .addOption(status())
    .addOption(note())
    .option("--progress <percent>", "how much is done, 0 to 100", percent)
    .addOption(json())
    .addHelpText("after", examples('relay task set "$id" --progress 60 --note "Running the tests"'))
    .action(async (id: string, { json, note, ...rest }) => {
      const { setTask } = await import("./work.ts");
      await setTask(
        io,
        id,
        { ...rest, ...(note !== undefined && { status_note: note }) },
        { json },
      );
    });
  tasks
    .command("done")
    .description("finish a task")
    .argument("<id>")
    .addOption(note())
    .addOption(json())
    .addHelpText("after", examples('relay task done "$id" --note "All tests pass"'))
    .action(async (id: string, { json, note }) => {
      const { setTask } = await import("./work.ts");
      const patch = { status: "done" as const, ...(note !== undefined && { status_note: note }) };
      await setTask(io, id, patch, { json });
    });
  tasks
    .command("list")
    .description("print the tasks, most recently updated first")
    .addOption(
      new Option("--status <status>", "of this state; may be given several times")
        .choices(STATUSES)
        .argParser<readonly string[]>((value, before) => {
          if ((STATUSES as readonly string[]).includes(value)) return collect(value, before);
          throw new Fault(`${oneLine(value)} is no status: there are ${STATUSES.join(", ")}`);
        }),
    )
    .addOption(json())
    .addHelpText("after", examples("relay task list --status todo --status in_progress"))
    .action(async (options) => {
      const { listTasks } = await import("./work.ts");
      await listTasks(io, options);
    });
}

function addRun(program: Command, io: Io, exit: (code: number) => void): void {
  program
    .command("run")
    .description("run a long command, with a task that shows how far it is and how it ended")
    .argument("<command...>", "the command with its arguments")
    .option("--title <text>", "title of the task; the command if absent")
    .passThroughOptions()
    .addHelpText(
      "after",
      `${examples('relay run --title "Nightly build" -- make -j4 all', "relay run -- ./migrate.sh | tee log.txt")}

The exit code is that of the command; 3 also if it cannot be started.`,
    )
    .action(async (command: string[], options) => {
      const [{ run }, { runChild }] = await Promise.all([import("./run.ts"), import("./child.ts")]);
      exit(await run(io, command, options, runChild));
    });
}

function addMessages(program: Command, io: Io): void {
  program
    .command("inbox")
    .description("print what is unread, and mark it as read")
    .option("--follow", "go on with what arrives, until Ctrl-C")
    .option("--peek", "leave it unread")
    .addOption(json())
    .addHelpText("after", examples("relay inbox", "relay inbox --follow --json | jq -r .text"))
    .action(async (options) => {
      const { readInbox } = await import("./work.ts");
      await readInbox(io, options);
    });
  program
    .command("say")
    .description("send a message to another agent")
    .argument("<agent>", "its name or id")
    .argument("<text>")
    .addOption(json())
    .addHelpText("after", examples('relay say builder "The tests pass"'))
    .action(async (agent: string, text: string, options) => {
      const { say } = await import("./work.ts");
      await say(io, agent, text, options);
    });
}

function addHook(program: Command, io: Io): void {
  program
    .command("hook")
    .description("ask the person for a coding agent's permission, as the command of its hook")
    .addArgument(
      new Argument("<client>", "whose hook it is").choices(["claude", "codex", "gemini"]),
    )
    .addOption(
      new Option(
        "--wait <time>",
        "time for the answer, 10s to 10m; claude 590s, codex 2m, gemini 50s if absent",
      ).argParser(duration(10, 600)),
    )
    .addOption(
      new Option(
        "--server <name>",
        "the client's name for Relay's MCP server, whose tools are not asked about; relay if absent",
      ),
    )
    .addHelpText(
      "after",
      `${examples("relay hook claude < request.json", "relay hook codex --wait 5m")}

It reads the client's JSON from standard input and prints the client's JSON, or nothing: then the
client's own prompt decides. The exit code is 0.`,
    )
    .action(async (client: "claude" | "codex" | "gemini", options) => {
      const { hook } = await import("./hook.ts");
      await hook(io, client, options);
      // Its exit code is 0 whatever happens: clients have meanings of their own for others.
      await io.flush().catch(() => {});
    });
}
