/** The view of a new recovery code, the only time that it is shown: save it to a file, print or copy it. */

import { ArrowRight, Check, Copy, Download, type LucideIcon, Pencil, Printer } from "lucide-react";
import { Fragment, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { type Fault, faultOf, retryMessage } from "../../../state/api.ts";
import {
  closeNewCode,
  makeRecoveryCode,
  newRecoveryCode,
  noteCodeSaved,
} from "../../../state/recovery.ts";
import { serverUrl } from "../../../state/server-url.ts";
import { confirmTokenSaved, type Session } from "../../../state/session.ts";
import { Button } from "../../../ui/button.tsx";
import { copyText } from "../../../ui/copy.ts";
import { Problem, Skeleton } from "../../../ui/parts.tsx";
import { toast } from "../../../ui/toast.tsx";
import { Frame } from "../../frame.tsx";
import { go, useRoute } from "../../route.ts";

/** Shown after an account was created. */
export function Created({ session }: { session: Session }) {
  const { api } = session;
  const { section } = useRoute();
  const [code, setCode] = useState<string | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const begun = useRef(false);
  const make = useCallback(async () => {
    setFault(null);
    await makeRecoveryCode(api).then(setCode, (error: unknown) => setFault(faultOf(error)));
  }, [api]);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    void make();
  }, [make]);
  const goOn = () => {
    // A person who came for something else is not held up.
    if (section === "questions") go("reach", { replace: true });
    confirmTokenSaved();
  };
  return (
    <SaveCode title="Your account is ready" code={code} onDone={goOn}>
      <p className="mt-2 mb-5 text-soft">
        There's no username or password. Add other browsers and phones under Account. If you lose
        them all, this recovery code signs you in: save it where you keep passwords, or on paper.
      </p>
      {fault && (
        <div className="mb-3 space-y-3">
          <Problem>{retryMessage(fault)}</Problem>
          <Button onClick={() => void make()}>Try again</Button>
        </div>
      )}
      {!fault && !code && <Skeleton rows={1} label="Making a recovery code" />}
    </SaveCode>
  );
}

/** Shown after a recovery, and after the person made a new code. */
export function NewCode() {
  const shown = newRecoveryCode.get();
  const was_used = shown?.sign_in != null;
  return (
    <SaveCode
      title={was_used ? "You're signed in again" : "Your new recovery code"}
      code={shown?.code ?? null}
      onDone={closeNewCode}
    >
      <p className="mt-2 mb-5 text-soft">
        {was_used
          ? "The recovery code you entered no longer works. This is the new one: save it in its place."
          : "It signs you in, once, if you lose all your browsers and phones. An earlier one no longer works."}
      </p>
    </SaveCode>
  );
}

interface SaveCodeProps {
  readonly title: string;
  /** Null while it is being made. */
  readonly code: string | null;
  readonly onDone: () => void;
  /** What is shown above the code. */
  readonly children: ReactNode;
}

function SaveCode({ title, code, onDone, children }: SaveCodeProps) {
  const [saved, setSaved] = useState(false);
  const area = useRef<HTMLElement>(null);
  const note = () => {
    noteCodeSaved();
    setSaved(true);
  };
  const copy = async () => {
    if (await copyText(code!)) {
      note();
      toast("Copied");
      return;
    }
    if (area.current) getSelection()?.selectAllChildren(area.current);
    toast("Your browser blocked copying. The text is selected: copy it yourself.", { bad: true });
  };
  const print = () => {
    window.print();
    note();
  };
  const saveFile = () => {
    download(fileName(), `${fileText(code!)}\n`);
    note();
  };
  return (
    <Frame title={title}>
      <div className="print:text-black">{children}</div>
      {code && (
        <>
          <code
            ref={area}
            translate="no"
            onCopy={note}
            className="block select-all rounded-xl border border-line bg-sunken px-4 py-3 font-mono text-lg leading-8 print:text-black"
          >
            {/* Lines of at most four groups. */}
            <span className="mx-auto block max-w-[20.5ch]">
              {code.match(/[^-]+-?/g)!.map((group) => (
                <Fragment key={group}>
                  <wbr />
                  <span className="whitespace-nowrap">{group}</span>
                </Fragment>
              ))}
            </span>
          </code>
          <p className="mt-3 hidden break-all print:block print:text-black">{serverUrl(".")}</p>
          <div className="mt-3 flex flex-wrap gap-3 print:hidden">
            <Way icon={Download} onClick={saveFile}>
              Save to a file
            </Way>
            <Way icon={Printer} onClick={print}>
              Print
            </Way>
            <Way icon={Copy} onClick={() => void copy()}>
              Copy
            </Way>
            <Way icon={Pencil} onClick={note}>
              I wrote it down
            </Way>
          </div>
          <p className="mt-3 text-faint text-sm print:text-black">
            It isn't shown again, and works once. Anyone who has it can open your account.
          </p>
        </>
      )}
      <Button
        variant={saved ? "primary" : "plain"}
        className="mt-6 w-full print:hidden"
        onClick={onDone}
      >
        {saved ? (
          <>
            <Check aria-hidden className="size-4.5" />
            Continue
          </>
        ) : (
          <>
            Continue and save one later
            <ArrowRight aria-hidden className="size-4.5" />
          </>
        )}
      </Button>
    </Frame>
  );
}

interface WayProps {
  readonly icon: LucideIcon;
  readonly onClick: () => void;
  readonly children: string;
}

function Way({ icon: Icon, onClick, children }: WayProps) {
  return (
    <Button className="flex-auto" onClick={onClick}>
      <Icon aria-hidden className="size-4.5" />
      {children}
    </Button>
  );
}

const fileName = (): string => `relay-recovery-code-${location.host.replace(/[^\w.-]/g, "-")}.txt`;

const fileText = (code: string): string => `Relay recovery code

${code}

It signs you in at ${serverUrl(".")} if you lose all your browsers and phones.
It works once. Anyone who has it can open your account.`;

/** Offers `text` as a file to save. */
function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
