/** One person: their name, and what the administrator can do with the account. */

import { useState } from "react";
import { now } from "../clock.ts";
import type { Pairing } from "../state/api.ts";
import { Ago } from "../ui/ago.tsx";
import { Button } from "../ui/button.tsx";
import { Confirm, Sheet } from "../ui/dialog.tsx";
import { FieldForm } from "../ui/field-form.tsx";
import { PairingCode } from "../ui/pairing-code.tsx";
import { Badge, Facts, Problem } from "../ui/parts.tsx";
import { useAction } from "../ui/use-action.ts";
import type { AdminApi } from "./api.ts";
import { bytes, count } from "./numbers.ts";
import type { Person } from "./people.tsx";

interface PersonSheetProps {
  readonly api: AdminApi;
  /** Null while it is closed. */
  readonly person: Person | null;
  readonly onClose: () => void;
  /** Called with what changed; null: the account is gone. */
  readonly onChange: (id: string, next: Partial<Person> | null) => void;
}

export function PersonSheet({ api, person, onClose, onChange }: PersonSheetProps) {
  return (
    <Sheet open={person !== null} onClose={onClose} title={person ? titleOf(person) : ""}>
      {person && <Contents key={person.id} {...{ api, person, onClose, onChange }} />}
    </Sheet>
  );
}

const titleOf = ({ name }: Person): string => name ?? "Account without a name";

/** How the dialogs call the account. */
const Called = ({ person: { id, name } }: { person: Person }) =>
  name === null ? (
    <code className="said break-all font-mono text-[0.8125rem]">{id}</code>
  ) : (
    <bdi className="said font-medium text-ink">{name}</bdi>
  );

type ContentsProps = Omit<PersonSheetProps, "person"> & { readonly person: Person };

function Contents({ api, person, onClose, onChange }: ContentsProps) {
  const { id, blocked_at } = person;
  const [asking, setAsking] = useState<"block" | "delete" | null>(null);
  const unblocking = useAction();
  const setBlocked = async (blocked: boolean) => {
    await api.setBlocked.mutate({ account_id: id, blocked });
    onChange(id, { blocked_at: blocked ? now() : null });
  };
  return (
    <div className="space-y-8">
      <Name api={api} person={person} onChange={onChange} />
      <State person={person} />
      {blocked_at === null ? (
        <LetBackIn api={api} person={person} />
      ) : (
        <section className="space-y-3">
          <h3 className="font-semibold">This account is blocked</h3>
          <p className="text-soft">
            Nobody can sign in to it, its agents are refused, and it gets no notifications. Its data
            is kept. When you unblock it, everything works as before, with the same sign-ins.
          </p>
          {unblocking.fault && <Problem>{unblocking.fault.message}</Problem>}
          <Button
            variant="primary"
            busy={unblocking.busy}
            onClick={() => void unblocking.run(() => setBlocked(false))}
          >
            Unblock
          </Button>
        </section>
      )}
      <section className="space-y-3 border-line border-t pt-5">
        <h3 className="font-semibold">Stop access</h3>
        <div className="flex flex-wrap gap-3">
          {blocked_at === null && <Button onClick={() => setAsking("block")}>Block…</Button>}
          <Button variant="warning" onClick={() => setAsking("delete")}>
            Delete account…
          </Button>
        </div>
      </section>
      <Confirm
        open={asking === "block"}
        onClose={() => setAsking(null)}
        title="Block this account?"
        action="Block"
        onConfirm={() => setBlocked(true)}
      >
        <p>
          <Called person={person} /> can't use Relay until you unblock the account. Its agents are
          refused too, and its notifications wait. Nothing is deleted.
        </p>
      </Confirm>
      <Confirm
        open={asking === "delete"}
        onClose={() => setAsking(null)}
        title="Delete this account?"
        action="Delete account"
        onConfirm={async () => {
          await api.deleteAccount.mutate({ account_id: id });
          onClose();
          onChange(id, null);
        }}
      >
        <p>
          The account of <Called person={person} /> is deleted with its agents, tasks, questions and
          answers. This can't be undone. To only stop access, block it.
        </p>
      </Confirm>
    </div>
  );
}

function Name({ api, person, onChange }: Pick<ContentsProps, "api" | "person" | "onChange">) {
  const { id, name } = person;
  const [editing, setEditing] = useState(false);
  if (editing) {
    return (
      <FieldForm
        name="name"
        label="Name"
        hint="Only you see it, on this page."
        maxLength={80}
        initial={name ?? ""}
        save={async (given) => {
          await api.setName.mutate({ account_id: id, name: given.trim() });
          onChange(id, { name: given.trim() });
        }}
        onDone={() => setEditing(false)}
      />
    );
  }
  return (
    <Button onClick={() => setEditing(true)}>{name === null ? "Give a name" : "Rename"}</Button>
  );
}

function State({ person }: { person: Person }) {
  const { tasks } = person;
  return (
    <Facts
      facts={[
        ...(person.blocked_at === null
          ? []
          : ([
              [
                "Blocked",
                <Badge key="b" tone="danger">
                  <Ago at={person.blocked_at} />
                </Badge>,
              ],
            ] as const)),
        [
          "Last seen",
          person.last_here_at === null ? "Never" : <Ago key="h" at={person.last_here_at} />,
        ],
        ["Signed in on", browsers(person.sign_ins)],
        ["Agents", count(person.keys)],
        [
          "Agents last active",
          person.last_used_at === null ? "Never" : <Ago key="a" at={person.last_used_at} />,
        ],
        ["Open questions", count(person.pending_questions)],
        ["Open tasks", count(tasks.todo + tasks.in_progress)],
        ["Finished tasks", count(tasks.done + tasks.cancelled)],
        ...(person.devices > 0 ? ([["Devices", count(person.devices)]] as const) : []),
        ["Stores", bytes(person.stored_bytes)],
        ["Joined", <Ago key="j" at={person.created_at} />],
        [
          "Account ID",
          <code key="i" translate="no" className="break-all font-mono text-[0.8125rem]">
            {person.id}
          </code>,
        ],
      ]}
    />
  );
}

const browsers = (sign_ins: number): string =>
  sign_ins === 0 ? "No browser" : sign_ins === 1 ? "1 browser" : `${count(sign_ins)} browsers`;

/** A code that signs one browser in, for a person who lost every sign-in (§5.14.5). */
function LetBackIn({ api, person }: Pick<ContentsProps, "api" | "person">) {
  const [pairing, setPairing] = useState<Pairing | null>(null);
  const { busy, fault, run } = useAction();
  const make = () => run(async () => setPairing(await api.pair.mutate({ account_id: person.id })));
  return (
    <section className="space-y-3">
      <h3 className="font-semibold">Let back in</h3>
      {pairing ? (
        <PairingCode pairing={pairing} onAgain={() => void make()} />
      ) : (
        <>
          <p className="text-soft">
            For somebody who lost every sign-in: a code or link that signs one browser in to this
            account, once. Whoever uses it sees everything in the account, so make sure you know who
            asks for it. The person sees that you added the browser.
          </p>
          {fault && <Problem>{fault.message}</Problem>}
          <Button busy={busy} onClick={() => void make()}>
            Make code
          </Button>
        </>
      )}
    </section>
  );
}
