/** The people of this server, newest first, and the invitations that wait to be used. */

import { ChevronRight, UserPlus } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { every } from "../clock.ts";
import { type Fault, faultOf } from "../state/api.ts";
import { Ago, AgoInLink } from "../ui/ago.tsx";
import { Button } from "../ui/button.tsx";
import { Badge, More, Problem, Skeleton } from "../ui/parts.tsx";
import { dayOf } from "../ui/time.ts";
import { useAction } from "../ui/use-action.ts";
import { useLoaded } from "../ui/use-loaded.ts";
import type { AdminApi, Outputs } from "./api.ts";
import { plural } from "./numbers.ts";

/** Loaded when first opened: the code of dialogs would make the first load a fifth larger. */
const PersonSheet = lazy(() =>
  import("./person-sheet.tsx").then((found) => ({ default: found.PersonSheet })),
);
const InviteSheet = lazy(() =>
  import("./invite-sheet.tsx").then((found) => ({ default: found.InviteSheet })),
);

export type Person = Outputs["accounts"]["accounts"][number];
type Invitation = Outputs["invitations"]["invitations"][number];

const PAGE = 25;
/** Seconds between two reads of the newest people. */
const REFRESH_EVERY = 60;
const UNNAMED = "Somebody";

/** The accounts that were loaded; `change` puts in what the administrator changed. */
function usePeople(api: AdminApi) {
  const [people, setPeople] = useState<readonly Person[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  /** Resolves to the cursor of the next page: null after the last one, undefined after a fault. */
  const load = useCallback(
    async (after: string | null) => {
      setBusy(true);
      try {
        const page = await api.accounts.query({ limit: PAGE, ...(after && { cursor: after }) });
        setPeople((before) => (after ? [...(before ?? []), ...page.accounts] : page.accounts));
        setCursor(page.next_cursor);
        setFault(null);
        return page.next_cursor;
      } catch (error) {
        setFault(faultOf(error));
      } finally {
        setBusy(false);
      }
      return undefined;
    },
    [api],
  );
  /** Reads the newest page again, and keeps the older people. */
  const refresh = useCallback(async () => {
    const page = await api.accounts.query({ limit: PAGE }).catch(() => null);
    if (!page) return;
    const { accounts, next_cursor } = page;
    // Ids sort by the time of their creation.
    const older = (before: readonly Person[]) =>
      next_cursor === null ? [] : before.filter(({ id }) => id < next_cursor);
    setPeople((before) => before && [...accounts, ...older(before)]);
    if (next_cursor === null) setCursor(null);
  }, [api]);
  useEffect(() => void load(null), [load]);
  const change = (id: string, next: Partial<Person> | null) =>
    setPeople(
      (before) =>
        before?.flatMap((one) => (one.id !== id ? one : next ? { ...one, ...next } : [])) ?? null,
    );
  return { people, cursor, busy, fault, load, refresh, change };
}

export function People({ api }: { api: AdminApi }) {
  const { people, cursor, busy, fault, load, refresh, change } = usePeople(api);
  const invitations = useLoaded("", async () => (await api.invitations.query()).invitations);
  const { load: loadInvitations } = invitations;
  useEffect(() => {
    const look = () => void (document.hidden || Promise.all([refresh(), loadInvitations()]));
    const stop = every(REFRESH_EVERY, look);
    document.addEventListener("visibilitychange", look);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [refresh, loadInvitations]);
  const [shown, setShown] = useState<string | null>(null);
  const [inviting, setInviting] = useState(false);
  const [opened, setOpened] = useState({ person: false, invite: false });
  const heading = useRef<HTMLHeadingElement>(null);
  const open = (id: string) => {
    setOpened({ ...opened, person: true });
    setShown(id);
  };
  const more = async () => {
    // The button goes with the last page.
    if ((await load(cursor)) === null) heading.current?.focus({ preventScroll: true });
  };
  return (
    <section aria-label="People" className="card min-w-0 p-5">
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 font-semibold text-lg">
          People
        </h2>
        <Button
          variant="primary"
          onClick={() => {
            setOpened({ ...opened, invite: true });
            setInviting(true);
          }}
        >
          <UserPlus aria-hidden className="size-4" />
          Invite
        </Button>
      </div>
      {fault && <Problem>{fault.message}</Problem>}
      {people === null ? (
        !fault && <Skeleton rows={2} label="Loading people" />
      ) : people.length === 0 ? (
        <p className="text-soft">Nobody has an account yet. Invite somebody, or yourself.</p>
      ) : (
        <ul aria-label="People" className="-mx-2 divide-y divide-line">
          {people.map((person) => (
            <li key={person.id}>
              <Row person={person} onClick={() => open(person.id)} />
            </li>
          ))}
        </ul>
      )}
      {cursor !== null && <More busy={busy} onClick={() => void more()} />}
      <Invitations api={api} open={invitations.value ?? []} onChange={invitations.load} />
      <Suspense>
        {opened.person && (
          <PersonSheet
            api={api}
            person={people?.find(({ id }) => id === shown) ?? null}
            onClose={() => setShown(null)}
            onChange={change}
          />
        )}
        {opened.invite && (
          <InviteSheet
            api={api}
            open={inviting}
            onClose={() => setInviting(false)}
            onMade={invitations.load}
          />
        )}
      </Suspense>
    </section>
  );
}

function Row({ person, onClick }: { person: Person; onClick: () => void }) {
  const { blocked_at, last_here_at, last_used_at, keys, pending_questions } = person;
  const agents = [
    plural(keys, "agent"),
    ...(pending_questions > 0 ? [plural(pending_questions, "open question")] : []),
  ].join(", ");
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      onClick={onClick}
      className="grid w-full gap-x-6 gap-y-0.5 rounded-xl px-2 py-3 text-left transition-colors hover:bg-sunken sm:grid-cols-[minmax(0,1fr)_9rem_19rem_auto] sm:items-center"
    >
      <span className="flex min-w-0 items-center gap-2">
        <NameOf person={person} />
        {blocked_at !== null && <Badge tone="danger">Blocked</Badge>}
      </span>
      <span className="text-sm text-soft">
        {last_here_at === null ? (
          "Never seen"
        ) : (
          <>
            {"Seen "}
            <AgoInLink at={last_here_at} />
          </>
        )}
      </span>
      <span className="text-faint text-sm">
        {agents}
        {last_used_at !== null && (
          <>
            {", active "}
            <AgoInLink at={last_used_at} />
          </>
        )}
      </span>
      <ChevronRight aria-hidden className="hidden size-4 text-faint sm:block" />
    </button>
  );
}

/** The name, or for an account without one when it was created. */
function NameOf({ person: { name, created_at } }: { person: Person }) {
  if (name !== null) {
    return <bdi className="wrap-anywhere line-clamp-2 min-w-0 font-medium">{name}</bdi>;
  }
  return (
    <span className="min-w-0 text-soft">
      {"No name, joined "}
      <AgoInLink at={created_at} />
    </span>
  );
}

interface InvitationsProps {
  readonly api: AdminApi;
  readonly open: readonly Invitation[];
  readonly onChange: () => Promise<void>;
}

function Invitations({ api, open, onChange }: InvitationsProps) {
  const { busy, fault, run } = useAction();
  if (open.length === 0) return null;
  return (
    <div className="mt-6">
      <h3 id="invitations" className="mb-1 font-medium">
        Open invitations
      </h3>
      {fault && <Problem>{fault.message}</Problem>}
      <ul aria-labelledby="invitations" className="divide-y divide-line">
        {open.map(({ id, name, created_at, expires_at }) => (
          <li key={id} className="flex items-center gap-3 py-1.5">
            <span className="min-w-0 flex-1">
              <bdi className="wrap-anywhere line-clamp-2">{name ?? UNNAMED}</bdi>
              <span className="block text-faint text-sm">
                {"Made "}
                <Ago at={created_at} />
                {`, valid until ${dayOf(expires_at)}`}
              </span>
            </span>
            <Button
              variant="warning"
              busy={busy}
              aria-label={`Revoke the invitation: ${name ?? UNNAMED}`}
              onClick={() =>
                void run(async () => {
                  await api.revoke.mutate({ invitation_id: id });
                }).then(onChange)
              }
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
