/** Form fields: label, control, hint and error. */

import { ChevronDown } from "lucide-react";
import { type ComponentProps, type ReactNode, useId } from "react";
import { classes } from "./classes.ts";

const CONTROL =
  "w-full rounded-xl border border-edge bg-surface px-3.5 py-2.5 text-base text-ink leading-6 aria-invalid:border-danger aria-invalid:outline-danger";

const QUIET =
  "w-full rounded-xl border border-line bg-surface px-3.5 py-2 text-soft leading-6 transition-colors hover:border-edge";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

interface ControlProps {
  readonly id: string;
  readonly "aria-invalid"?: true;
  readonly "aria-describedby"?: string;
}

function Field({
  label,
  hint,
  error,
  children,
}: FieldProps & { readonly children: (control: ControlProps) => ReactNode }) {
  const id = useId();
  const about = error || hint ? `${id}-about` : undefined;
  return (
    <div>
      <label htmlFor={id} className="mb-1.5 block font-medium text-sm">
        {label}
      </label>
      {children({
        id,
        ...(error && { "aria-invalid": true as const }),
        ...(about && { "aria-describedby": about }),
      })}
      {about && (
        <p id={about} className={classes("mt-1.5 text-sm", error ? "text-danger" : "text-faint")}>
          {error ? `This ${error}.` : hint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  error,
  className,
  ...rest
}: FieldProps & ComponentProps<"input">) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          type="text"
          dir="auto"
          autoComplete="off"
          {...rest}
          {...control}
          className={classes(CONTROL, "touch", className)}
        />
      )}
    </Field>
  );
}

export function AreaField({
  label,
  hint,
  error,
  className,
  ...rest
}: FieldProps & ComponentProps<"textarea">) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea
          dir="auto"
          rows={3}
          {...rest}
          {...control}
          className={classes(CONTROL, "field-sizing-content max-h-96 min-h-24 resize-y", className)}
        />
      )}
    </Field>
  );
}

interface SelectProps extends FieldProps, Omit<ComponentProps<"select">, "children"> {
  /** Value and label of each option. */
  readonly options: readonly (readonly [string, string])[];
}

/** A labelled native select, which works best on phones. */
export function SelectField({ label, hint, error, options, className, ...rest }: SelectProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => <Select {...rest} {...control} options={options} className={className} />}
    </Field>
  );
}

interface BareSelectProps extends Omit<SelectProps, keyof FieldProps> {
  /** For filters rather than form fields. */
  readonly quiet?: boolean;
}

export function Select({ options, quiet, className, ...rest }: BareSelectProps) {
  return (
    <div className="relative">
      <select
        {...rest}
        className={classes(
          quiet ? QUIET : CONTROL,
          "touch appearance-none truncate pr-10",
          className,
        )}
      >
        {options.map(([value, name]) => (
          <option key={value} value={value} dir="auto">
            {name}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-soft"
      />
    </div>
  );
}

/** A switch that takes effect at once. Like a button, it keeps the focus when it is disabled. */
export function Switch({
  label,
  hint,
  disabled,
  onChange,
  ...rest
}: { readonly label: string; readonly hint?: ReactNode } & ComponentProps<"input">) {
  const id = useId();
  return (
    <div className="flex items-start gap-4">
      <div className="min-w-0 flex-1">
        <label htmlFor={id} className="block font-medium">
          {label}
        </label>
        {hint && (
          <p id={`${id}-about`} className="mt-0.5 text-faint text-sm">
            {hint}
          </p>
        )}
      </div>
      <span className="touch relative inline-flex items-center justify-center">
        <input
          {...rest}
          id={id}
          type="checkbox"
          // biome-ignore lint/a11y/useAriaPropsForRole: a checkbox exposes its state by itself.
          role="switch"
          aria-disabled={disabled || undefined}
          onChange={(event) => disabled || onChange?.(event)}
          {...(hint ? { "aria-describedby": `${id}-about` } : {})}
          className="peer absolute inset-0 cursor-pointer appearance-none rounded-xl aria-disabled:cursor-not-allowed"
        />
        <span
          aria-hidden
          className="pointer-events-none flex h-6 w-11 items-center rounded-full border border-edge bg-sunken p-0.5 transition-colors after:size-4.5 after:rounded-full after:bg-edge after:transition-transform peer-checked:border-accent peer-checked:bg-accent peer-checked:after:translate-x-5 peer-checked:after:bg-accent-ink forced-colors:after:bg-[CanvasText] forced-colors:peer-checked:bg-[Highlight] forced-colors:peer-checked:after:bg-[HighlightText] peer-aria-disabled:opacity-50"
        />
      </span>
    </div>
  );
}
