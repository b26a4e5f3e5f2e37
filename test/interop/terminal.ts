/** A program in a pseudo-terminal, which a script reads and types into. */

/** Columns and rows; wide, so that no text is broken. */
const [COLS, ROWS] = [160, 50];

export interface Terminal extends AsyncDisposable {
  /** What it has printed so far, without control sequences and blanks. */
  readonly shown: () => string;
  readonly type: (text: string) => void;
}

interface Options {
  readonly cwd: string;
  /** Its whole environment, except the variables of a terminal. */
  readonly env: Readonly<Record<string, string>>;
}

/** ECMA-48 control sequences, strings such as titles, and other escapes. */
const SEQUENCES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\u0007|\u001b\\)|[ -/]*[0-~])/gs;

/** A program that draws with the cursor leaves out blanks, so texts are compared without them. */
export const withoutBlanks = (text: string): string => text.replace(/[\s\u00a0]/g, "");

export function startInTerminal(command: readonly string[], { cwd, env }: Options): Terminal {
  const decoder = new TextDecoder();
  let output = "";
  const terminal = new Bun.Terminal({
    cols: COLS,
    rows: ROWS,
    data: (_, piece) => {
      const text = decoder.decode(piece, { stream: true });
      output += text;
      // Before drawing, programs ask where the cursor is and what terminal it is.
      if (text.includes("\u001b[6n")) terminal.write("\u001b[1;1R");
      if (text.includes("\u001b[c")) terminal.write("\u001b[?62;22c");
    },
  });
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...env, TERM: "xterm-256color", COLORTERM: "truecolor", LANG: "C.UTF-8" },
    terminal,
    // A process group of its own, so that no process outlives the program.
    detached: true,
  });
  return {
    shown: () => withoutBlanks(output.replace(SEQUENCES, "")),
    type: (text) => void terminal.write(text),
    async [Symbol.asyncDispose]() {
      process.kill(-child.pid, "SIGKILL");
      await child.exited;
      terminal.close();
    },
  };
}
