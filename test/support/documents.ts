/** README and the pages of `docs/` as tests read them: sections, commands, links. */

const root = new URL("../../", import.meta.url);

/** A document's text, by its path in the project. */
export const readText = (path: string): Promise<string> => Bun.file(new URL(path, root)).text();

/** Lines of a document that are not code. */
export const prose = (text: string): string => text.replace(/^ *```.*?^ *```/gms, "");

/** The addresses of a document's headings, as GitHub makes them. */
export const anchorsOf = (text: string): string[] =>
  [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

/** The part of a document under this heading, up to the next heading of the same or a higher level. */
export function sectionOf(text: string, title: string): string {
  const lines = text.split("\n");
  const from = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === title);
  if (from < 0) throw new Error(`no section is called "${title}"`);
  const depth = lines[from]!.indexOf(" ");
  let in_code = false;
  const end = lines.findIndex((line, i) => {
    if (line.startsWith("```")) in_code = !in_code;
    return i > from && !in_code && new RegExp(`^#{1,${depth}} `).test(line);
  });
  return lines.slice(from + 1, end < 0 ? undefined : end).join("\n");
}

/** The code blocks in this language, in order. */
export function codeIn(text: string, language: string): string[] {
  const blocks = text.matchAll(/^ *```(\w+)\n(.*?)^ *```/gms);
  return [...blocks].filter(([, name]) => name === language).map(([, , code]) => code!);
}

/** The address that the documents name. */
export const ADDRESS = "http://127.0.0.1:3000";

/** Runs shell commands as a document shows them against this server; `output` is their output so far. */
export function runShell(commands: string, url: string) {
  const script = commands.replaceAll(ADDRESS, url);
  const shell = Bun.spawn(["bash", "-c", `set -e\n${script}`], {
    cwd: root.pathname,
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  const printed = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of shell.stdout) text += decoder.decode(chunk, { stream: true });
  })();
  return {
    output: (): string => text,
    /** Its exit code, once all output has been read. */
    ended: printed.then(() => shell.exited),
    [Symbol.dispose]: (): void => shell.kill(),
  };
}
