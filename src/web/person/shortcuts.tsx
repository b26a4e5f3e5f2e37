/** The dialog with the keyboard shortcuts of the page. */

import { Fragment, useState } from "react";
import { Sheet } from "../ui/dialog.tsx";

/** Sections: a title, then the keys and what they do. */
const KEYS = [
  [
    "Everywhere",
    [
      [["/"], "Search"],
      [["?"], "Show these shortcuts"],
      [["Esc"], "Close what is open, or go back from a question"],
      [["Ctrl + Z"], "Undo the last change"],
    ],
  ],
  [
    "Tasks",
    [
      [["X"], "Choose the task"],
      [["Shift + X"], "Choose all from the last one to this"],
    ],
  ],
  [
    "Questions",
    [
      [["J", "↓"], "Next question"],
      [["K", "↑"], "Previous question"],
      [["Y"], "Answer Yes, or allow"],
      [["N"], "Answer No, or deny"],
      [["1", "2", "…"], "Choose an option, by the key shown on it"],
      [["E"], "Show all of a long question"],
    ],
  ],
  [
    "Typed answers",
    [
      [["Enter"], "Send"],
      [["Shift + Enter"], "New line"],
      [["Ctrl + Enter"], "Approve or send a draft, where Enter makes a new line"],
    ],
  ],
] as const;

export function Shortcuts({ onClose }: { onClose: () => void }) {
  const [open, setOpen] = useState(true);
  return (
    <Sheet open={open} onClose={() => setOpen(false)} onClosed={onClose} title="Keyboard shortcuts">
      <div className="space-y-6">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3 className="mb-2 font-semibold text-faint text-sm">{title}</h3>
            <dl className="space-y-2">
              {keys.map(([names, does]) => (
                <div key={does} className="flex items-center gap-3">
                  <dt className="w-32 shrink-0">
                    {names.map((name, at) => (
                      <Fragment key={name}>
                        {at > 0 && " "}
                        <kbd
                          translate="no"
                          className="rounded-md border border-edge px-1.5 font-mono text-sm leading-6"
                        >
                          {name}
                        </kbd>
                      </Fragment>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Sheet>
  );
}
