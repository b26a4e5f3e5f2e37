/** The people of this server, newest first, and the invitations that wait to be used. */

import { ChevronRight, UserPlus } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { after, every } from "../clock.ts";
import { type Fault, faultOf } from "../state/api.ts";
import { Ago, AgoInLink } from "../ui/ago.tsx";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
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
/** Seconds after typing until people are looked for. */
const SEARCH_AFTER = 0.3;
const UNNAMED = "Somebody";

interface Found {
  /** What was looked for; empty: everybody. */
  readonly name: string;
  readonly people: readonly Person[];
  readonly cursor: string | null;
}

/**
 * The accounts that were loaded, all of them or those with `name`; while a search is under way, those before it. `change`
 * puts in what the administrator changed.
 */
function usePeople(api: AdminApi, name: string) {
  const [found, setFound] = useState<Found | null>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  /** True once there were more people than one page has. */
  const [are_many, setAreMany] = useState(false);
  /** What arrives for another name is dropped. */
  const wanted = useRef(name);
  const read = useCallback(
    (after: string | null) =>
      api.accounts.query({ limit: PAGE, ...(name && { name }), ...(after && { cursor: after }) }),
    [api, name],
  );
  /** Resolves to the cursor of the next page: null after the last one, undefined after a fault. */
  const load = useCallback(
    async (after: string | null) => {
      setBusy(true);
      try {
        const next: Person[] = [];
        let cursor = after;
        // With a name, pages may be short.
        do {
          const page = await read(cursor);
          if (wanted.current !== name) return undefined;
          next.push(...page.accounts);
          cursor = page.next_cursor;
        } while (cursor !== null && next.length < PAGE);
        setFound((before) => ({
          name,
          people: after ? [...(before?.people ?? []), ...next] : next,
          cursor,
        }));
        if (name === "" && cursor !== null) setAreMany(true);
        setFault(null);
        return cursor;
      } catch (error) {
        if (wanted.current === name) setFault(faultOf(error));
      } finally {
        if (wanted.current === name) setBusy(false);
      }
      return undefined;
    },
    [read, name],
  );
  /** Reads the newest page again, and keeps the older people. */
  const refresh = useCallback(async () => {
    const page = await read(null).catch(() => null);
    if (!page) return;
    const { accounts, next_cursor } = page;
    // Ids sort by the time of their creation.
    const isOlder = ({ id }: Person) => next_cursor !== null && id < next_cursor;
    setFound((before) =>
      before?.name === name
        ? {
            name,
            people: [...accounts, ...before.people.filter(isOlder)],
            cursor: next_cursor && before.cursor,
          }
        : before,
    );
  }, [read, name]);
  useEffect(() => {
    wanted.current = name;
    void load(null);
  }, [load, name]);
  const change = (id: string, next: Partial<Person> | null) =>
    setFound(
      (before) =>
        before && {
          ...before,
          people: before.people.flatMap((one) =>
            one.id !== id ? one : next ? { ...one, ...next } : [],
          ),
        },
    );
  const is_current = found?.name === name;
  return { found, is_current, are_many, busy, fault, load, refresh, change };
}

export function People({ api }: { api: AdminApi }) {
  const [typed, setTyped] = useState("");
  const [name, setName] = useState("");
  useEffect(() => after(SEARCH_AFTER, () => setName(typed.trim())), [typed]);
  const { found, is_current, are_many, busy, fault, load, refresh, change } = usePeople(api, name);
  const { people = null, cursor = null } = found ?? {};
  const invitations = useLoaded("", async () => (await api.invitations.query()).invitations);
  const { load: loadInvitations } = invitations;
  const open_invitations = (invitations.value ?? []).filter((one) => hasIn(one, name));
  useEffect(() => {
    const look = () => {
      if (document.hidden) return;
      // Also after a first read that failed.
      void (is_current ? refresh() : load(null));
      void loadInvitations();
    };
    const stop = every(REFRESH_EVERY, look);
    document.addEventListener("visibilitychange", look);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [is_current, load, refresh, loadInvitations]);
  /** As it was when it was opened, or changed: it may leave the list meanwhile, such as with a new name. */
  const [shown, setShown] = useState<Person | null>(null);
  const [inviting, setInviting] = useState(false);
  const [opened, setOpened] = useState({ person: false, invite: false });
  const heading = useRef<HTMLHeadingElement>(null);
  const open = (person: Person) => {
    setOpened({ ...opened, person: true });
    setShown(person);
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
      {are_many && (
        <TextField
          type="search"
          label="Find by name"
          maxLength={100}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          className="sm:max-w-md"
        />
      )}
      {are_many && (
        <p role="status" className="said mt-1.5 mb-2 min-h-5 text-faint text-sm">
          {typed.trim() !== name || !is_current
            ? !fault && "Searching…"
            : name !== "" && countOf(people?.length ?? 0, cursor !== null)}
        </p>
      )}
      {fault && <Problem>{fault.message}</Problem>}
      {people === null ? (
        !fault && <Skeleton rows={2} label="Loading people" />
      ) : people.length === 0 ? (
        name === "" && (
          <p className="text-soft">Nobody has an account yet. Invite somebody, or yourself.</p>
        )
      ) : (
        <ul aria-label="People" className="-mx-2 divide-y divide-line">
          {people.map((person) => (
            <li key={person.id}>
              <Row person={person} onClick={() => open(person)} />
            </li>
          ))}
        </ul>
      )}
      {cursor !== null && is_current && <More busy={busy} onClick={() => void more()} />}
      <Invitations api={api} open={open_invitations} onChange={invitations.load} />
      <Suspense>
        {opened.person && (
          <PersonSheet
            api={api}
            person={shown && (people?.find(({ id }) => id === shown.id) ?? shown)}
            onClose={() => setShown(null)}
            onChange={(id, next) => {
              change(id, next);
              setShown((before) => before && next && { ...before, ...next });
            }}
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

/** Whether the server would find an account of this name. */
const hasIn = (of: Pick<Person, "name">, searched: string): boolean =>
  searched === "" || (of.name !== null && fold(of.name).includes(fold(searched)));

const fold = (text: string): string => text.normalize("NFC").toUpperCase();

/** How many people a search has found. */
const countOf = (people: number, has_more: boolean): string =>
  people === 0
    ? "No account has this in its name."
    : has_more
      ? `The newest ${people}`
      : plural(people, "person", "people");

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
              <bdi className="wrap-anywhere line-clamp-2 text-left">{name ?? UNNAMED}</bdi>
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
