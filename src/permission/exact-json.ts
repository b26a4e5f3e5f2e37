/** JSON whose numbers are exactly those that it names; pure. */

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** The types of the language do not know the source of a value yet. */
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * The value of a text; undefined when it is no JSON, or has a number that would be another one here, such as
 * 9007199254740993 or 1e400: a person would be shown what the tool does not get.
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

/** One text for each number in decimals: sign, digits without zeros at their ends, and exponent. */
function numberOf(text: string): string | null {
  const [found, sign, whole = "", part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (found === undefined) return null;
  const digits = (whole + part).replace(/^0+/, "");
  const ended = digits.replace(/0+$/, "");
  const exponent = Number(power) - part.length + digits.length - ended.length;
  return ended === "" ? `${sign}0` : `${sign}${ended}e${exponent}`;
}
