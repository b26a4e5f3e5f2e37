/** Buttons, and links that look like them. */

import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { classes } from "./classes.ts";

const VARIANTS = {
  primary: "bg-accent text-accent-ink hover:bg-accent-strong",
  plain: "bg-surface text-ink border border-edge/60 hover:bg-sunken",
  quiet: "text-soft hover:bg-sunken hover:text-ink",
  warning: "text-danger hover:bg-danger-soft",
  danger: "bg-danger text-danger-ink hover:bg-danger-strong",
} as const;

const SHAPE =
  "touch inline-flex items-center justify-center gap-2 rounded-xl px-4 py-2 font-medium leading-tight transition-colors aria-disabled:opacity-60";

interface ButtonProps extends ComponentProps<"button"> {
  readonly variant?: keyof typeof VARIANTS;
  /** Its action is in progress: shows a spinner and ignores clicks. */
  readonly busy?: boolean;
}

/** Uses `aria-disabled` instead of `disabled`, which would lose the focus. */
export function Button({
  variant = "plain",
  busy,
  disabled,
  className,
  children,
  ...rest
}: ButtonProps) {
  const off = busy || disabled;
  return (
    <button
      type="button"
      {...rest}
      className={classes(SHAPE, VARIANTS[variant], className)}
      aria-disabled={off || undefined}
      onClick={off ? (event) => event.preventDefault() : rest.onClick}
    >
      {busy && <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />}
      {children}
    </button>
  );
}

/** A button with an icon only; `label` is its name. */
export function IconButton({
  label,
  children,
  className,
  ...rest
}: ComponentProps<"button"> & { readonly label: string; readonly children: ReactNode }) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...rest}
      className={classes(
        "touch inline-flex shrink-0 items-center justify-center rounded-xl text-soft transition-colors hover:bg-sunken hover:text-ink",
        className,
      )}
    >
      {children}
    </button>
  );
}

export function ButtonLink({
  variant = "plain",
  className,
  ...rest
}: ComponentProps<"a"> & { readonly variant?: keyof typeof VARIANTS }) {
  return <a {...rest} className={classes(SHAPE, VARIANTS[variant], className)} />;
}
