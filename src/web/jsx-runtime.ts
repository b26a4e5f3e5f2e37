/**
 * What JSX of the pages compiles to: React's functions, except that a text beside other children gets its own
 * element. Translators, such as Chrome's, replace text nodes with elements. React keeps the node of a text only if it
 * is beside others, and would then update or remove a node that is no longer in the document. It sets a text that is
 * alone in its element anew.
 */

import { type Component, type ExoticComponent, Fragment, type ReactNode } from "react";
import * as react from "react/jsx-runtime";

export { Fragment };

export namespace JSX {
  /** A component returns elements: a bare text that it returned could end up beside others. */
  export type ElementType =
    | keyof IntrinsicElements
    | ((props: never) => react.JSX.Element | readonly react.JSX.Element[] | null)
    | (new (
        props: never,
      ) => Component<unknown>)
    | ExoticComponent<never>;
  export type Element = react.JSX.Element;
  export type ElementClass = react.JSX.ElementClass;
  export type ElementAttributesProperty = react.JSX.ElementAttributesProperty;
  export type ElementChildrenAttribute = react.JSX.ElementChildrenAttribute;
  export type LibraryManagedAttributes<C, P> = react.JSX.LibraryManagedAttributes<C, P>;
  export type IntrinsicAttributes = react.JSX.IntrinsicAttributes;
  export type IntrinsicClassAttributes<T> = react.JSX.IntrinsicClassAttributes<T>;
  export type IntrinsicElements = react.JSX.IntrinsicElements;
}

type Type = Parameters<typeof react.jsx>[0];
type Props = { readonly children?: ReactNode };
type Key = Parameters<typeof react.jsx>[2];

const isText = (child: unknown): child is string | number =>
  (typeof child === "string" && child !== "") || typeof child === "number";

/** Wraps each run of texts in an element. The other children keep their index, which is their identity. */
function separate(children: readonly ReactNode[]): ReactNode[] {
  const found: ReactNode[] = new Array(children.length);
  let run = "";
  for (let at = children.length - 1; at >= 0; at--) {
    const child = children[at];
    if (!isText(child)) {
      found[at] = Array.isArray(child) ? separate(child) : child;
      continue;
    }
    run = child + run;
    const is_first = at === 0 || !isText(children[at - 1]);
    found[at] = is_first ? react.jsx("span", { children: run }, `text ${at}`) : null;
    if (is_first) run = "";
  }
  return found;
}

function separated(type: Type, props: Props): Props {
  const { children } = props;
  // An option can contain text only.
  if (type === "option") return props;
  if (Array.isArray(children)) {
    const is_alone = children.length === 1 && isText(children[0]) && typeof type === "string";
    return { ...props, children: is_alone ? children[0] : separate(children) };
  }
  if (type === Fragment && isText(children)) return { ...props, children: separate([children]) };
  return props;
}

export const jsx = (type: Type, props: Props, key?: Key) =>
  react.jsx(type, separated(type, props), key);

export const jsxs = (type: Type, props: Props, key?: Key) =>
  react.jsxs(type, separated(type, props), key);

/** Bun compiles to this when it runs a file without bundling it, as tests do. */
export const jsxDEV = (type: Type, props: Props, key?: Key) => jsx(type, props, key);
