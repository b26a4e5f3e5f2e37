/** A command whose options stay whole where its lines wrap. */

import { Fragment } from "react";

/** An option such as `--scope`, `-la` or `--define=`: browsers break lines after each of its hyphens. */
const OPTION = /(?<![^\s"'`([{=|;&])--?[A-Za-z0-9][\w-]*=?/g;

/** Characters of a text with whole options, at most: many of them take long to lay out. */
const MOST = 4_000;

/** The text as it is, also when it is selected and copied. An option that is wider than the line still wraps. */
export function Command({ text }: { readonly text: string }) {
  const options = text.length > MOST ? [] : [...text.matchAll(OPTION)];
  if (options.length === 0) return <>{text}</>;
  let from = 0;
  return (
    <>
      {options.map(({ 0: option, index }) => {
        const before = text.slice(from, index);
        from = index + option.length;
        return (
          <Fragment key={index}>
            {before}
            <span className="inline-block max-w-full indent-0">{option}</span>
          </Fragment>
        );
      })}
      {text.slice(from)}
    </>
  );
}
