/** Text to copy: snippets and secrets; secrets can also be shown as a QR code. */

import { Check, Copy, Eye, EyeOff, QrCode } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { after } from "../clock.ts";
import { Button, IconButton } from "./button.tsx";
import { classes } from "./classes.ts";
import { copyText } from "./copy.ts";
import type { QrCode as QrImage } from "./qr.ts";
import { toast } from "./toast.tsx";

/** Seconds that the button shows success. */
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
      toast("Copied");
      after(SAID, () => setCopied(false));
      return;
    }
    onRefused();
    toast("Your browser blocked copying. The text is selected: copy it yourself.", { bad: true });
  };
  return (
    <IconButton label={label} onClick={() => void copy()}>
      {copied ? (
        <Check aria-hidden className="size-4.5 text-ok" />
      ) : (
        <Copy aria-hidden className="size-4.5" />
      )}
    </IconButton>
  );
}

function select({ current }: RefObject<HTMLElement | null>): void {
  if (current) getSelection()?.selectAllChildren(current);
}

interface SnippetProps {
  readonly text: string;
  /** Says what it is. */
  readonly name: string;
  /** A sentence, not code. */
  readonly prose?: boolean;
}

/** Text to copy. */
export function Snippet({ text, name, prose }: SnippetProps) {
  const shown = useRef<HTMLPreElement>(null);
  return (
    <div className="flex items-start gap-1 rounded-xl border border-line bg-sunken py-1 pr-1 pl-4">
      <pre
        ref={shown}
        className={classes(
          "min-w-0 flex-1 whitespace-pre-wrap py-2.5 leading-6",
          prose ? "font-sans" : "wrap-anywhere font-mono text-[0.8125rem]",
        )}
      >
        {text}
      </pre>
      <CopyButton text={text} label={`Copy ${name}`} onRefused={() => select(shown)} />
    </div>
  );
}

/** A secret with a QR code; `hidden` until the person reveals it. */
export function Secret({ text, name, hidden }: { text: string; name: string; hidden?: boolean }) {
  const [shown, setShown] = useState(!hidden);
  const [code, setCode] = useState<QrImage | null>(null);
  const area = useRef<HTMLElement>(null);
  /** Selected once it is shown. */
  const [selecting, setSelecting] = useState(false);
  useEffect(() => {
    if (!selecting) return;
    select(area);
    setSelecting(false);
  }, [selecting]);
  const reveal = () => {
    setShown(true);
    setSelecting(true);
  };
  const toggle = async () => {
    if (code !== null) return setCode(null);
    const { qrCode } = await import("./qr.ts");
    setCode(qrCode(text));
  };
  return (
    <div>
      <div className="flex items-center gap-1 rounded-xl border border-line bg-sunken py-1 pr-1 pl-4">
        <code
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
            {shown ? (
              <EyeOff aria-hidden className="size-4.5" />
            ) : (
              <Eye aria-hidden className="size-4.5" />
            )}
          </IconButton>
        )}
        <CopyButton text={text} label={`Copy ${name}`} onRefused={reveal} />
      </div>
      <Button
        variant="quiet"
        className="mt-1"
        aria-expanded={code !== null}
        onClick={() => void toggle()}
      >
        <QrCode aria-hidden className="size-4.5" />
        {code === null ? "Show QR code" : "Hide QR code"}
      </Button>
      {code !== null && (
        <svg
          role="img"
          aria-label={`QR code for ${name}`}
          viewBox={`0 0 ${code.size} ${code.size}`}
          className="mt-1 size-56 rounded-xl bg-white p-1"
        >
          <path d={code.path} fill="#000" shapeRendering="crispEdges" />
        </svg>
      )}
    </div>
  );
}
