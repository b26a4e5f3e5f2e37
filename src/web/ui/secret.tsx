/** Text to copy: snippets and secrets; secrets can also be shown as a QR code. */

import { Check, Copy, Eye, EyeOff, QrCode } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { after } from "../clock.ts";
import { Button, IconButton } from "./button.tsx";
import { classes } from "./classes.ts";
import { Command } from "./command.tsx";
import { copyText } from "./copy.ts";
import { QrImage } from "./qr-image.tsx";
import { announceResult, toast } from "./toast.tsx";

/** Seconds for which the button shows success. */
const SAID = 2;

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  /** Selects the text on the page: the last resort, when the browser refuses to copy. */
  readonly onRefused: () => void;
}

function CopyButton({ text, label, onRefused }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    if (await copyText(text)) {
      setCopied(true);
      announceResult("Copied");
      after(SAID, () => setCopied(false));
      return;
    }
    onRefused();
    toast("Your browser blocked copying. The text is selected: copy it yourself.", { bad: true });
  };
  const Icon = copied ? Check : Copy;
  return (
    <IconButton label={label} onClick={() => void copy()}>
      <Icon aria-hidden className={classes("size-4.5", copied && "text-ok")} />
    </IconButton>
  );
}

function select({ current }: RefObject<HTMLElement | null>): void {
  if (current) getSelection()?.selectAllChildren(current);
}

interface SnippetProps {
  readonly text: string;
  /** Names the text in the label of its copy button. */
  readonly name: string;
  /** True: a sentence, not code. */
  readonly prose?: boolean;
}

/** Characters of a snippet above which it scrolls in itself. */
const LONG = 600;

export function Snippet({ text, name, prose }: SnippetProps) {
  const shown = useRef<HTMLPreElement>(null);
  const long = text.length > LONG;
  return (
    <div className="flex items-start gap-1 rounded-xl border border-line bg-sunken py-1 pr-1 pl-4">
      <pre
        translate="no"
        ref={shown}
        // The arrow keys scroll it.
        tabIndex={long ? 0 : undefined}
        className={classes(
          "min-w-0 flex-1 whitespace-pre-wrap py-2.5 leading-6",
          long && "max-h-60 overflow-y-auto -outline-offset-2",
          prose ? "font-sans" : "wrap-anywhere font-mono text-[0.8125rem]",
        )}
      >
        {prose ? text : <Command text={text} />}
      </pre>
      <CopyButton text={text} label={`Copy ${name}`} onRefused={() => select(shown)} />
    </div>
  );
}

interface SecretProps {
  readonly text: string;
  readonly name: string;
  /** True: hidden until the person reveals it. */
  readonly hidden?: boolean;
  /** True if it can be shown as a QR code. */
  readonly qr?: boolean;
}

export function Secret({ text, name, hidden, qr }: SecretProps) {
  const [shown, setShown] = useState(!hidden);
  const [scannable, setScannable] = useState(false);
  const area = useRef<HTMLElement>(null);
  /** True: to be selected after the next render, which shows it. */
  const [selecting, setSelecting] = useState(false);
  useEffect(() => {
    if (!selecting) return;
    select(area);
    setSelecting(false);
  }, [selecting]);
  const Icon = shown ? EyeOff : Eye;
  const reveal = () => {
    setShown(true);
    setSelecting(true);
  };
  return (
    <div>
      <div className="flex items-center gap-1 rounded-xl border border-line bg-sunken py-1 pr-1 pl-4">
        <code
          translate="no"
          ref={area}
          className={classes(
            "min-w-0 flex-1 break-all py-2 font-mono text-[0.8125rem]",
            shown ? "select-all" : "select-none text-faint",
          )}
        >
          {shown ? text : `${text.slice(0, 4)}${"•".repeat(16)}`}
        </code>
        {hidden && (
          <IconButton
            label={shown ? `Hide ${name}` : `Show ${name}`}
            onClick={() => setShown(!shown)}
          >
            <Icon aria-hidden className="size-4.5" />
          </IconButton>
        )}
        <CopyButton text={text} label={`Copy ${name}`} onRefused={reveal} />
      </div>
      {qr && (
        <>
          <Button
            variant="quiet"
            className="my-1"
            aria-expanded={scannable}
            onClick={() => setScannable(!scannable)}
          >
            <QrCode aria-hidden className="size-4.5" />
            {scannable ? "Hide QR code" : "Show QR code"}
          </Button>
          {scannable && <QrImage text={text} label={`QR code for ${name}`} />}
        </>
      )}
    </div>
  );
}
