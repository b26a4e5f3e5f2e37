/** The frame of the page: navigation, connection status and the current view. */

import { Bot, CircleUserRound, ListTodo, MessageCircleQuestion, Search } from "lucide-react";
import {
  Activity,
  type ReactNode,
  Suspense,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { after } from "../clock.ts";
import { isUnconfirmed, pairingCode } from "../state/pairing.ts";
import { hideMadeCode, newRecoveryCode } from "../state/recovery.ts";
import { currentSession, onSession, type Session } from "../state/session.ts";
import { inviteCode, startCode } from "../state/start-code.ts";
import { Boundary } from "../ui/boundary.tsx";
import { classes } from "../ui/classes.ts";
import { Dock } from "../ui/dock.tsx";
import { keepFocus } from "../ui/keep-focus.ts";
import { Skeleton } from "../ui/parts.tsx";
import { clearToasts, Toasts, toast } from "../ui/toast.tsx";
import { NewSignIns } from "./account/new-sign-ins.tsx";
import { Welcome } from "./account/welcome.tsx";
import { ConnectionBanner, ConnectionDot } from "./connection.tsx";
import { isQuestion, useKeptList } from "./kept-list.ts";
import { Logo } from "./logo.tsx";
import { Announcer } from "./questions/announcer.tsx";
import { watchQuestions } from "./questions/notifications.ts";
import { QuestionView } from "./questions/question-view.tsx";
import { QuestionsView } from "./questions/questions.tsx";
import { closeQuestion, go, KeptRoute, type Route, useRoute } from "./route.ts";
import { SessionContext, useSession, useStore, useUndoable } from "./use-store.ts";
import {
  AccountView,
  AgentsView,
  AgentView,
  AlreadySignedIn,
  AwaitApproval,
  Consent,
  Created,
  Invited,
  loadViews,
  NewCode,
  Pair,
  Reach,
  SearchView,
  Shortcuts,
  Start,
  TasksView,
  UndoBars,
} from "./views.ts";

const SECTIONS = [
  { section: "questions", name: "Questions", icon: MessageCircleQuestion },
  { section: "tasks", name: "Tasks", icon: ListTodo },
  { section: "search", name: "Search", icon: Search },
  { section: "agents", name: "Agents", icon: Bot },
  { section: "account", name: "Account", icon: CircleUserRound },
] as const;

/** Seconds until the other views are loaded, so that they do not delay the first one. */
const LOAD_VIEWS_AFTER = 1;

export function App() {
  const session = useSyncExternalStore(onSession, currentSession);
  const start_code = useSyncExternalStore(startCode.subscribe, startCode.get);
  const invite_code = useSyncExternalStore(inviteCode.subscribe, inviteCode.get);
  const pairing_code = useSyncExternalStore(pairingCode.subscribe, pairingCode.get);
  const new_code = useSyncExternalStore(newRecoveryCode.subscribe, newRecoveryCode.get);
  const route = useRoute();
  useEffect(() => {
    if (session) return;
    clearToasts();
    hideMadeCode();
  }, [session]);
  useEffect(keepFocus, []);
  return (
    <>
      <Boundary>
        <Suspense>
          {viewFor(session, { start_code, invite_code, pairing_code, new_code }, route)}
        </Suspense>
      </Boundary>
      <Toasts />
    </>
  );
}

/** The codes of links that this tab was opened with, and a recovery code that was just made. */
interface Codes {
  readonly start_code: string | null;
  readonly invite_code: string | null;
  readonly pairing_code: string | null;
  readonly new_code: object | null;
}

function viewFor(
  session: Session | null,
  { start_code, invite_code, pairing_code, new_code }: Codes,
  route: Route,
): ReactNode {
  // The way back in is shown first.
  if (session?.is_new) return <Created session={session} />;
  if (new_code !== null) return <NewCode />;
  // Links with a code do not replace an existing sign-in.
  if (!session) {
    if (pairing_code !== null) return <Pair key={pairing_code} code={pairing_code} />;
    if (invite_code !== null) return <Invited code={invite_code} />;
    if (start_code !== null) return <Start code={start_code} />;
    const { section, id } = route;
    return section === "authorize" && id !== null ? (
      <AwaitApproval key={id} request={id} />
    ) : (
      <Welcome />
    );
  }
  if (pairing_code !== null && !isUnconfirmed(pairing_code)) return <AlreadySignedIn />;
  return (
    <SessionContext value={session}>
      {isRequest(route) ? (
        <Consent key={route.id} request={route.id} />
      ) : route.section === "reach" ? (
        <Reach />
      ) : (
        <SignedIn key={session.number} />
      )}
    </SessionContext>
  );
}

/** True if the view is a client's request for access, which is shown without navigation. */
const isRequest = ({ section }: Route): boolean => section === "authorize" || section === "approve";

/** Opens the search; if it is open, selects the text of its field. */
function openSearch(): void {
  const field = document.querySelector<HTMLInputElement>("main input[type=search]");
  // The search may be kept behind an open question.
  if (field?.offsetParent) field.select();
  else go("search");
}

function SignedIn() {
  const { store, keptAnswers } = useSession();
  const route = useRoute();
  useEffect(() => keptAnswers.onSent(() => toast("Answer sent")), [keptAnswers]);
  useEffect(() => watchQuestions(store), [store]);
  useEffect(() => after(LOAD_VIEWS_AFTER, () => void loadViews()), []);
  useTitle(route);
  const some_undoable = useUndoable().length > 0;
  const [shortcuts, setShortcuts] = useState(false);
  const { list, list_key, view_key, from } = useKeptList(route);
  useGlobalKeys({
    "?": () => setShortcuts(true),
    "/": openSearch,
    Escape() {
      if (isQuestion(route)) closeQuestion(from?.hash ?? "#/questions");
    },
  });
  return (
    <div className="md:grid md:grid-cols-[15rem_minmax(0,1fr)]">
      <button
        type="button"
        className="touch fixed top-2 left-2 z-20 -translate-y-24 rounded-xl bg-accent px-4 font-medium text-accent-ink focus:translate-y-0"
        onClick={() => document.querySelector("main")?.focus()}
      >
        Skip to content
      </button>
      <aside className="md:sticky md:top-0 md:flex md:h-dvh md:flex-col md:border-line md:border-r md:px-4 md:py-6">
        <div className="mb-6 hidden items-center gap-2.5 px-3 md:flex">
          <Logo />
          <span className="font-semibold text-lg tracking-tight">Relay</span>
        </div>
        <Navigation section={route.section} />
        <div className="mt-auto hidden space-y-2 px-3 md:block">
          <ConnectionDot />
          <button
            type="button"
            aria-haspopup="dialog"
            onClick={() => setShortcuts(true)}
            className="min-h-6 text-faint text-sm hover:text-ink hover:underline"
          >
            Keyboard shortcuts
          </button>
        </div>
      </aside>
      <div className="flex min-h-dvh min-w-0 flex-col pb-[calc(5.5rem+env(safe-area-inset-bottom))] short:min-h-0 short:pb-6 md:pb-16">
        <ConnectionBanner />
        <NewSignIns />
        <main
          tabIndex={-1}
          className="mx-auto w-full max-w-3xl flex-1 px-4 pt-5 sm:px-6 md:px-10 md:pt-9"
        >
          {/* Before the list, so that its heading is the first one. */}
          {isQuestion(route) && (
            <Boundary key={view_key}>
              <QuestionView id={route.id} from={from} />
            </Boundary>
          )}
          {list && (
            <Activity key={list_key} mode={isQuestion(route) ? "hidden" : "visible"}>
              <KeptRoute value={isQuestion(route) ? list : null}>
                <Boundary>
                  <Suspense fallback={<Skeleton label="Loading view" />}>{viewOf(list)}</Suspense>
                </Boundary>
              </KeptRoute>
            </Activity>
          )}
        </main>
        <Dock className="sticky bottom-[calc(4.5rem+env(safe-area-inset-bottom))] z-20 mx-auto mt-4 w-full max-w-md px-4 short:bottom-3 md:bottom-6" />
        <Boundary>
          <Suspense>{some_undoable && <UndoBars />}</Suspense>
        </Boundary>
      </div>
      <Announcer />
      <Boundary>
        <Suspense>{shortcuts && <Shortcuts onClose={() => setShortcuts(false)} />}</Suspense>
      </Boundary>
    </div>
  );
}

/**
 * Runs an action when its key is pressed in any view, unless the person types or a dialog is open.
 * `actions`: by `KeyboardEvent.key`.
 */
function useGlobalKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, target, repeat, ctrlKey, metaKey, altKey, defaultPrevented } = event;
      const action = latest.current[key];
      if (!action || repeat || ctrlKey || metaKey || altKey || defaultPrevented) return;
      if ((target as Element).closest("input, textarea, select, [role$=dialog]")) return;
      if (document.querySelector("[role$=dialog]")) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Sets the document title: the view, and the number of pending questions. */
function useTitle({ section }: Route): void {
  // A resting page has no current number; the page with the stream shows it.
  const waiting = useStore((store) =>
    store.connection() === "resting" ? 0 : store.pending().length,
  );
  const { name } = SECTIONS.find((one) => one.section === section) ?? SECTIONS[0];
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} · Relay`;
    return () => {
      document.title = "Relay";
    };
  }, [waiting, name]);
}

function viewOf({ section, id }: Route): ReactNode {
  switch (section) {
    case "tasks":
      return <TasksView />;
    case "search":
      return <SearchView />;
    case "agents":
      return id === null ? <AgentsView /> : <AgentView key={id} id={id} />;
    case "account":
      return <AccountView />;
    default:
      return <QuestionsView />;
  }
}

/**
 * The main navigation: at the bottom on phones, at the side on desktops; not fixed where it would
 * cover much of the view.
 */
function Navigation({ section }: Pick<Route, "section">) {
  const waiting = useStore((store) => store.pending().length);
  return (
    <nav
      aria-label="Main"
      className="fixed inset-x-0 bottom-0 z-20 border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] short:static max-md:short:border-t-0 max-md:short:border-b md:static md:border-0 md:bg-transparent"
    >
      <ul className="flex md:flex-col md:gap-1">
        {SECTIONS.map(({ section: target, name, icon: Icon }) => (
          <li key={target} className="flex-1">
            <a
              href={`#/${target}`}
              aria-current={target === section ? "page" : undefined}
              className={classes(
                "relative flex min-h-15 flex-col items-center justify-center gap-1 font-medium text-xs transition-colors -outline-offset-4 md:min-h-11 md:flex-row md:justify-start md:gap-3 md:rounded-xl md:px-3 md:text-[0.9375rem] md:outline-offset-2",
                target === section
                  ? "text-accent md:bg-accent-soft"
                  : "text-soft hover:text-ink md:hover:bg-sunken",
              )}
            >
              <Icon aria-hidden className="size-5.5 md:size-5" />
              {/* At 200 % zoom of a phone, there is no room for the names. */}
              <span className="max-[17rem]:sr-only">{name}</span>
              {target === "questions" && waiting > 0 && (
                <span className="absolute top-1.5 left-1/2 ml-1.5 min-w-5 rounded-full bg-accent px-1.5 text-center font-semibold text-accent-ink text-xs leading-5 md:static md:ml-auto">
                  {waiting}
                  <span className="sr-only"> pending</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
