/** Parses JSON, but only if none of its numbers changes; pure. */

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** TypeScript's types do not have the third argument of a reviver yet. */
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * The value of a JSON text; undefined if it is invalid, or has a number that a double cannot
 * represent, such as 9007199254740993 or 1e400: the person would be shown another value than the
 * tool gets.
 */
export function parseExactly(text: string): unknown {
  let exact = true;
  try {
    const value = parse(text, (_, one, { source }) => {
      if (typeof one === "number") exact &&= numberOf(String(one)) === numberOf(source ?? "");
      return one;
    });
    return exact ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The canonical text of a decimal number: sign, digits without zeros at either end, and exponent;
 * null if it is not a number.
 */
function numberOf(text: string): string | null {
  const [found, sign, whole = "", part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (found === undefined) return null;
  const digits = (whole + part).replace(/^0+/, "");
  const ended = digits.replace(/0+$/, "");
  const exponent = Number(power) - part.length + digits.length - ended.length;
  return ended === "" ? `${sign}0` : `${sign}${ended}e${exponent}`;
}
