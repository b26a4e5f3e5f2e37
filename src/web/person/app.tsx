/** The frame of the page: where one can go, whether it is live, and the view that is open. */

import { Bot, CircleUserRound, ListTodo, MessageCircleQuestion } from "lucide-react";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { currentSession, onSession, type Session } from "../state/session.ts";
import { Boundary } from "../ui/boundary.tsx";
import { classes } from "../ui/classes.ts";
import { keepFocus } from "../ui/keep-focus.ts";
import { clearToasts, Toasts } from "../ui/toast.tsx";
import { AccountView } from "./account.tsx";
import { AgentView } from "./agent.tsx";
import { AgentsView } from "./agents.tsx";
import { LinkBanner, LinkDot } from "./link.tsx";
import { Logo } from "./logo.tsx";
import { News } from "./news.tsx";
import { watchQuestions } from "./notifications.ts";
import { QuestionsView } from "./questions.tsx";
import { type Route, useRoute } from "./route.ts";
import { TasksView } from "./tasks.tsx";
import { SessionContext, useSession, useStore } from "./use-store.ts";
import { Created, Welcome } from "./welcome.tsx";

const PLACES = [
  { section: "questions", name: "Questions", icon: MessageCircleQuestion },
  { section: "tasks", name: "Tasks", icon: ListTodo },
  { section: "agents", name: "Agents", icon: Bot },
  { section: "account", name: "Account", icon: CircleUserRound },
] as const;

export function App() {
  const session = useSyncExternalStore(onSession, currentSession);
  useEffect(() => {
    if (!session) clearToasts();
  }, [session]);
  useEffect(keepFocus, []);
  return (
    <>
      {viewFor(session)}
      <Toasts />
    </>
  );
}

function viewFor(session: Session | null): ReactNode {
  if (!session) return <Welcome />;
  // The token is the only way in, so it is shown before anything else.
  if (session.is_new) return <Created token={session.token} />;
  return (
    <SessionContext value={session}>
      <Signed key={session.visit} />
    </SessionContext>
  );
}

function Signed() {
  const { store } = useSession();
  const route = useRoute();
  useEffect(() => watchQuestions(store), [store]);
  useTitle(route);
  const { section, id, part } = route;
  // A task that is opened lies over its list, which stays where it is.
  const place = section === "agents" ? `${section} ${id} ${part}` : section;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each place begins at its top.
  useEffect(() => void window.scrollTo(0, 0), [place]);
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
        <Places section={route.section} />
        <div className="mt-auto hidden px-3 md:block">
          <LinkDot />
        </div>
      </aside>
      <div className="min-w-0 pb-[calc(5.5rem+env(safe-area-inset-bottom))] short:pb-6 md:pb-16">
        <LinkBanner />
        <main tabIndex={-1} className="mx-auto max-w-3xl px-4 pt-5 sm:px-6 md:px-10 md:pt-9">
          <Boundary key={place}>{viewOf(route)}</Boundary>
        </main>
      </div>
      <News />
    </div>
  );
}

/** The place, and how many questions wait. */
function useTitle({ section }: Route): void {
  // A page that rests does not know; the one that stands for it tells.
  const waiting = useStore((store) => (store.link() === "resting" ? 0 : store.pending().length));
  const { name } = PLACES.find((place) => place.section === section)!;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} · Relay`;
    return () => {
      document.title = "Relay";
    };
  }, [waiting, name]);
}

function viewOf({ section, id }: Route): ReactNode {
  switch (section) {
    case "questions":
      return <QuestionsView />;
    case "tasks":
      return <TasksView />;
    case "agents":
      return id === null ? <AgentsView /> : <AgentView key={id} id={id} />;
    case "account":
      return <AccountView />;
  }
}

/** At the bottom of a phone, at the side of a desk; over the view where a bar would take much of it. */
function Places({ section }: Pick<Route, "section">) {
  const waiting = useStore((store) => store.pending().length);
  return (
    <nav
      aria-label="Places"
      className="fixed inset-x-0 bottom-0 z-20 border-line border-t bg-surface pb-[env(safe-area-inset-bottom)] short:static max-md:short:border-t-0 max-md:short:border-b md:static md:border-0 md:bg-transparent"
    >
      <ul className="flex md:flex-col md:gap-1">
        {PLACES.map(({ section: place, name, icon: Icon }) => (
          <li key={place} className="flex-1">
            <a
              href={`#/${place}`}
              aria-current={place === section ? "page" : undefined}
              className={classes(
                "relative flex min-h-15 flex-col items-center justify-center gap-1 font-medium text-xs transition-colors -outline-offset-4 md:min-h-11 md:flex-row md:justify-start md:gap-3 md:rounded-xl md:px-3 md:text-[0.9375rem] md:outline-offset-2",
                place === section
                  ? "text-accent md:bg-accent-soft"
                  : "text-soft hover:text-ink md:hover:bg-sunken",
              )}
            >
              <Icon aria-hidden className="size-5.5 md:size-5" />
              {name}
              {place === "questions" && waiting > 0 && (
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
