/** Reads JSON as it was written, without rounding numbers or dropping members. Pure. */

import { type Node, parseTree } from "jsonc-parser";

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Not in TypeScript's types yet: the third argument of a reviver, and raw JSON. */
const { parse, rawJSON } = JSON as unknown as {
  readonly parse: (text: string, reviver: Reviver) => unknown;
  readonly rawJSON: (source: string) => unknown;
};

/**
 * The value of a JSON text. Undefined if the person could see something else than the tool gets: if the text is
 * invalid, an object has a name twice, or a double cannot represent a number, such as 9007199254740993 or 1e400.
 */
export function parseExactly(text: string): unknown {
  let exact = true;
  try {
    const value = parse(text, (_, one, { source = "" }) => {
      if (typeof one === "number") exact &&= isExact(one, source);
      return one;
    });
    return exact && !repeatsName(parseTree(text)!) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A JSON text to be read again later: of an object or array the text, of any other value the value. */
export const textOrValue = (json: string): unknown =>
  /^[[{]/.test(json) ? json : parseExactly(json);

/** A valid JSON text with other white space. Numbers stay as they were written. */
export const formatJson = (text: string, indent?: number): string =>
  JSON.stringify(
    parse(text, (_, one, { source = "" }) => (typeof one === "number" ? rawJSON(source) : one)),
    null,
    indent,
  );

/**
 * The members of an object in a JSON text, each value as it was written. `path`: the names that lead from the outermost
 * object to it. Undefined if the text is invalid, there is no such object, or it or one around it has a name twice.
 */
export function memberTexts(
  text: string,
  path: readonly string[] = [],
): ReadonlyMap<string, string> | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let members = membersOf(parseTree(text));
  for (const name of path) members = membersOf(members?.get(name));
  if (members === undefined) return undefined;
  const write = ({ offset, length }: Node) => text.slice(offset, offset + length);
  return new Map([...members].map(([name, value]) => [name, write(value)]));
}

/** The members of an object; undefined if the node is not an object, or has a name twice. */
function membersOf(object: Node | undefined): ReadonlyMap<string, Node> | undefined {
  if (object?.type !== "object") return undefined;
  const { children = [] } = object;
  const members = new Map(
    children.map(({ children: [name, value] = [] }) => [name!.value, value!]),
  );
  return members.size === children.length ? members : undefined;
}

/** True if an object in the node has a name twice, of which a parser would keep only one. */
const repeatsName = (node: Node): boolean =>
  (node.type === "object" && !membersOf(node)) || (node.children ?? []).some(repeatsName);

/** Longest number that is compared. JSON writers use less. */
const NUMBER = 400;

/** True if a double can represent the number that was written. */
const isExact = (value: number, source: string): boolean =>
  source.length <= NUMBER && numberOf(String(value)) === numberOf(source);

/** One text for equal decimal numbers: sign, digits without zeros at either end, exponent. Null for another text. */
function numberOf(text: string): string | null {
  const [found, sign, whole = "", part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (found === undefined) return null;
  const digits = (whole + part).replace(/^0+/, "");
  const ended = digits.replace(/0+$/, "");
  const exponent = Number(power) - part.length + digits.length - ended.length;
  return ended === "" ? `${sign}0` : `${sign}${ended}e${exponent}`;
}
