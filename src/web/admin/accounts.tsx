/** The list of accounts, newest first: ids, counts and times. */

import { KeyRound, RotateCw } from "lucide-react";
import { lazy, type RefObject, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { type Fault, faultOf } from "../state/api.ts";
import { Ago } from "../ui/ago.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { More, Problem, Skeleton } from "../ui/parts.tsx";
import type { AdminApi, Outputs } from "./api.ts";
import { count } from "./numbers.ts";

/** Loaded when first opened: the dialog code would make the first load a fifth larger. */
const Pair = lazy(() => import("./pair.tsx").then(({ Pair: pair }) => ({ default: pair })));

type Account = Outputs["accounts"]["accounts"][number];

const PAGE = 25;

export function Accounts({ api }: { api: AdminApi }) {
  const [accounts, setAccounts] = useState<readonly Account[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const [pairing, setPairing] = useState<string | null>(null);
  const [opened, setOpened] = useState(false);
  const open = (account_id: string) => {
    setOpened(true);
    setPairing(account_id);
  };
  const table = useRef<HTMLElement>(null);
  const load = useCallback(
    async (after: string | null) => {
      setBusy(true);
      try {
        const page = await api.accounts.query({ limit: PAGE, ...(after && { cursor: after }) });
        setAccounts((before) => (after ? [...(before ?? []), ...page.accounts] : page.accounts));
        setCursor(page.next_cursor);
        setFault(null);
        // The button disappears with the last page; move the focus to the table.
        if (after && page.next_cursor === null) table.current?.focus({ preventScroll: true });
      } catch (error) {
        setFault(faultOf(error));
      }
      setBusy(false);
    },
    [api],
  );
  useEffect(() => void load(null), [load]);
  return (
    <section aria-label="Accounts" className="card min-w-0 p-5">
      <div className="mb-2 flex items-center gap-3">
        <h2 className="min-w-0 flex-1 font-semibold text-base">Accounts</h2>
        <Button variant="quiet" onClick={() => void load(null)}>
          <RotateCw aria-hidden className="size-4" />
          Refresh
        </Button>
      </div>
      {fault && <Problem>{fault.message}</Problem>}
      {accounts === null ? (
        !fault && <Skeleton rows={2} label="Loading accounts" />
      ) : accounts.length === 0 ? (
        <p className="text-soft">No accounts yet.</p>
      ) : (
        <Table accounts={accounts} scroll_ref={table} onPair={open} />
      )}
      {cursor !== null && <More busy={busy} onClick={() => void load(cursor)} />}
      <Suspense>
        {opened && <Pair api={api} account_id={pairing} onClose={() => setPairing(null)} />}
      </Suspense>
    </section>
  );
}

const COLUMNS = ["Keys", "Devices", "Open tasks", "Finished", "Pending questions"] as const;

interface TableProps {
  readonly accounts: readonly Account[];
  readonly scroll_ref: RefObject<HTMLElement | null>;
  readonly onPair: (account_id: string) => void;
}

function Table({ accounts, scroll_ref, onPair }: TableProps) {
  return (
    // Scrolls horizontally on phones; focusable, so that the keyboard can scroll it.
    <section
      ref={scroll_ref}
      aria-label="Accounts table"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable.
      tabIndex={0}
      className="-mx-5 overflow-x-auto px-5"
    >
      <table className="w-full text-sm tabular-nums">
        <thead>
          <tr className="text-left text-faint">
            <th scope="col" className="py-2 pr-4 font-normal">
              Account
            </th>
            {COLUMNS.map((name) => (
              <th key={name} scope="col" className="px-3 py-2 text-right font-normal">
                {name}
              </th>
            ))}
            <th scope="col" className="py-2 pl-3 text-right font-normal">
              Last used
            </th>
            <th scope="col" className="relative py-2 pl-3 font-normal">
              <span className="sr-only">Action</span>
            </th>
          </tr>
        </thead>
        <tbody className="divide-y divide-line border-line border-t">
          {accounts.map(({ id, created_at, keys, devices, tasks, pending_questions, ...rest }) => (
            <tr key={id}>
              <td className="whitespace-nowrap py-2.5 pr-4">
                <code
                  title={id}
                  className="block max-w-40 truncate font-mono text-[0.8125rem] sm:max-w-none"
                >
                  {id}
                </code>
                <span className="block text-faint">
                  <Ago at={created_at} />
                </span>
              </td>
              {[
                keys,
                devices,
                tasks.todo + tasks.in_progress,
                tasks.done + tasks.cancelled,
                pending_questions,
              ].map((value, i) => (
                <td key={COLUMNS[i]} className="px-3 py-2.5 text-right">
                  {count(value)}
                </td>
              ))}
              <td className="whitespace-nowrap py-2.5 pl-3 text-right">
                {rest.last_used_at === null ? "Never" : <Ago at={rest.last_used_at} />}
              </td>
              <td className="pl-3 text-right">
                <IconButton label={`Let a person back in to ${id}`} onClick={() => onPair(id)}>
                  <KeyRound aria-hidden className="size-4.5" />
                </IconButton>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
