/**
 * The oldest browser that the pages support, by MDN's compatibility data: Safari 16.4, the first to show Web
 * Push on an iPhone (docs/notifications.md).
 */

import data, {
  type CompatStatement,
  type Identifier,
  type SimpleSupportStatement,
} from "@mdn/browser-compat-data";
import { type Identifier as Name, type Node, parse } from "acorn";
import { ancestor, type SimpleVisitors, simple } from "acorn-walk";
import { parse as parseStyles, walk } from "css-tree";

/** The oldest browser's version, as major and minor. */
const OLDEST = [16, 4] as const;
const BROWSERS = ["safari", "safari_ios"] as const;

/** The last version of ECMAScript whose complete syntax the oldest browser knows. */
const SYNTAX = 2022;

const isWithin = (version: string): boolean => {
  const [major = 0, minor = 0] = version.replace("≤", "").split(".").map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor <= OLDEST[1]);
};

function supports(statement: SimpleSupportStatement): boolean {
  const { version_added: added, version_removed, flags, prefix, alternative_name } = statement;
  if (version_removed || flags || prefix || alternative_name) return false;
  return typeof added === "string" && added !== "preview" && isWithin(added);
}

/** Whether the oldest browser lacks a feature. */
function isNewer(compat: CompatStatement | undefined): boolean {
  if (!compat) return false;
  return BROWSERS.some((browser) => {
    const support = compat.support[browser];
    return support !== undefined && ![support].flat().some(supports);
  });
}

/** A built-in object, and what the oldest browser lacks: the whole, or members of it or its instances. */
export interface Missing {
  readonly object: string;
  readonly whole: boolean;
  readonly own: readonly string[];
  readonly instance: readonly string[];
}

const membersOf = ({ __compat, ...members }: Identifier) =>
  Object.entries(members as Record<string, Identifier>);

function missingOf(object: string, described: Identifier, has_marks: boolean): Missing | null {
  const members = membersOf(described)
    // A constructor has the name of its object; events and options are not members.
    .filter(
      ([name, one]) => /^\w+(?<!_event)$/.test(name) && name !== object && isNewer(one.__compat),
    )
    .map(([name]) => name);
  const whole = isNewer(described.__compat);
  if (!whole && members.length === 0) return null;
  // The data marks an interface's static members by a suffix, and does not distinguish those of the language.
  const own = has_marks ? members.filter((name) => /_static$/.test(name)) : members;
  const instance = has_marks ? members.filter((name) => !/_static$/.test(name)) : members;
  return { object, whole, own: own.map((name) => name.replace(/_static$/, "")), instance };
}

const { builtins } = data.javascript;

/** Everything that the oldest browser lacks in the language and in a page's interfaces. */
export const MISSING: readonly Missing[] = [
  ...membersOf(builtins!).map(([name, one]) => missingOf(name, one, false)),
  ...membersOf(builtins!.Intl!).map(([name, one]) => missingOf(`Intl.${name}`, one, false)),
  ...membersOf(data.api as Identifier).map(([name, one]) => missingOf(name, one, true)),
].filter((one) => one !== null);

/**
 * Deletes everything missing from the global scope in which it runs, a page's or a worker's. Uses nothing
 * from outside, since it is sent to the browser as text.
 */
export function removeMissing(missing: readonly Missing[]): void {
  const scope = globalThis as any;
  for (const { object, whole, own, instance } of missing) {
    const path = object.split(".");
    const name = path.pop()!;
    const around = path.reduce((found, part) => found?.[part], scope);
    const it = around?.[name];
    for (const member of it ? own : []) delete it[member];
    for (const member of it?.prototype ? instance : []) delete it.prototype[member];
    // A window's members are its own, not its prototype's.
    for (const member of name === "Window" ? instance : []) delete scope[member];
    if (whole && it) delete around[name];
  }
}

/** By the object's name. */
const BY_NAME = new Map(MISSING.map((one) => [one.object, one]));

/**
 * What a script uses and the oldest browser lacks: syntax, and built-ins by name, such as `URL.parse`. A
 * built-in that the script tests for first, for example by `typeof`, is left out.
 */
export function newerIn(script: string): string[] {
  let tree: ReturnType<typeof parse>;
  try {
    tree = parse(script, { ecmaVersion: SYNTAX, sourceType: "module" });
  } catch (error) {
    return [(error as Error).message];
  }
  // Names that minifying has given to other things.
  const declared = new Set<string | undefined>();
  const declarations: SimpleVisitors<unknown> & { VariablePattern: (node: Name) => void } = {
    VariablePattern: ({ name }) => void declared.add(name),
    Function: ({ id }) => void declared.add(id?.name),
    Class: ({ id }) => void declared.add(id?.name),
    ImportSpecifier: ({ local }) => void declared.add(local.name),
  };
  simple(tree, declarations);
  const used = new Set<string>();
  const tested = new Set<string>();
  const note = (name: string, ancestors: readonly Node[]) => {
    (isTest(ancestors) ? tested : used).add(name);
  };
  ancestor(tree, {
    Identifier({ name }, _, ancestors) {
      if (BY_NAME.get(name)?.whole && !declared.has(name)) note(name, ancestors);
    },
    MemberExpression({ object, property, computed }, _, ancestors) {
      if (computed || object.type !== "Identifier" || property.type !== "Identifier") return;
      if (declared.has(object.name)) return;
      const is_missing = BY_NAME.get(object.name)?.own.includes(property.name);
      if (is_missing) note(`${object.name}.${property.name}`, ancestors);
    },
  });
  return [...used.difference(tested)].sort();
}

/** Whether an expression only tests for existence: in `typeof x`, `x?.()` or `x ?? y`. */
function isTest(ancestors: readonly Node[]): boolean {
  const around = ancestors.at(-2) as Node & { operator?: string; optional?: boolean };
  return (
    (around.type === "UnaryExpression" && around.operator === "typeof") ||
    (around.type === "LogicalExpression" && around.operator === "??") ||
    around.optional === true
  );
}

/**
 * What a style sheet uses and the oldest browser lacks: properties, their keywords, functions, rules, selectors, and
 * nested rules. Names with a vendor's prefix are for other browsers.
 */
export function newerStylesIn(sheet: string): string[] {
  const found = new Set<string>();
  const { properties = {}, selectors = {}, types = {} } = data.css;
  const rules = data.css["at-rules"] ?? {};
  const note = (what: string, described: Identifier | undefined) => {
    if (!what.startsWith("-") && isNewer(described?.__compat)) found.add(what);
  };
  walk(parseStyles(sheet), function (node) {
    if (node.type === "NestingSelector") found.add("&");
    if (node.type === "Atrule") note(`@${node.name}`, rules[node.name]);
    if (node.type === "PseudoClassSelector" || node.type === "PseudoElementSelector") {
      note(`:${node.name}`, selectors[node.name]);
    }
    if (node.type === "Function") {
      const { name } = node;
      for (const type of [types, ...Object.values(types)])
        note(`${name}()`, (type as Identifier)[name]);
    }
    if (node.type === "Declaration") note(node.property, properties[node.property]);
    if (node.type === "Identifier" && this.declaration) {
      const { property } = this.declaration;
      note(`${property}: ${node.name}`, properties[property]?.[node.name]);
    }
  });
  return [...found].sort();
}
