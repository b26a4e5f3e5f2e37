/** Properties of text that every schema relies on (docs/interface.md §1.3). */

/** False for text that a store would change: it holds NUL or a lone surrogate. */
export function isStorable(value: string): boolean {
  return !value.includes("\0") && value.isWellFormed();
}

const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** Whether nothing of a text can be seen (docs/interface.md §1.3.7). */
export function isBlank(value: string): boolean {
  return !VISIBLE.test(value);
}

/** Whether `value` has at most `max` code points. */
export function fits(value: string, max: number): boolean {
  if (value.length <= max) return true;
  if (value.length > max * 2) return false;
  let points = 0;
  for (const _ of value) points++;
  return points <= max;
}
