/** Searches tasks and questions while the person types: the loaded ones here, older questions on the server. */

import { ListTodo, MessageCircleQuestion, SearchX } from "lucide-react";
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { after } from "../clock.ts";
import type { Question, Task } from "../state/api.ts";
import {
  excerptOf,
  isTask,
  partsOf,
  patternOf,
  search,
  wordsNotIn,
  wordsOf,
} from "../state/search.ts";
import { closedAt } from "../state/store.ts";
import { LineWithAgo } from "../ui/ago.tsx";
import { Part } from "../ui/boundary.tsx";
import { Badge, Empty, Heading, More, Problem } from "../ui/parts.tsx";
import { useLine } from "../ui/prose.tsx";
import { useNow } from "../ui/use-now.ts";
import { QuestionBadge } from "./questions/questions.tsx";
import { go, useRoute } from "./route.ts";
import { useServerSearch } from "./use-server-search.ts";
import { labelOf, useKey, useSession } from "./use-store.ts";
import { STATUS_NAMES, STATUS_TONES } from "./words.ts";

/** Results that are shown at first, and with each **Show more**. */
const STEP = 50;
/** Seconds after typing until the address contains the search. */
const ADDRESS = 0.3;

export function SearchView() {
  const { store } = useSession();
  const { query } = useRoute();
  const [text, setText] = useState(query.get("q") ?? "");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  /** The search that this view has put into the address last. */
  const written = useRef(text);
  useEffect(
    () =>
      after(ADDRESS, () => {
        const to = text.trim() === "" ? "search" : `search?${new URLSearchParams({ q: text })}`;
        written.current = text.trim() === "" ? "" : text;
        if (location.hash !== `#/${to}`) go(to, { replace: true });
      }),
    [text],
  );
  const wanted = query.get("q") ?? "";
  // A link, or the history, leads to another search.
  useEffect(() => {
    if (wanted === written.current) return;
    written.current = wanted;
    setText(wanted);
  }, [wanted]);
  const typed = useDeferredValue(text);
  const words = useMemo(() => wordsOf(typed), [typed]);
  const { found: older, busy, has_more, is_partial, fault, more } = useServerSearch(words);
  // Searches again once a second, however often the store changes.
  const second = useNow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `store` is mutated in place.
  const found = useMemo(() => search(store, older, words), [store, older, words, second]);
  const pattern = useMemo(() => patternOf(words), [words]);
  const [shown, setShown] = useState(STEP);
  // biome-ignore lint/correctness/useExhaustiveDependencies: for another search.
  useEffect(() => setShown(STEP), [typed]);

  const list = useRef<HTMLUListElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const results = [...(list.current?.querySelectorAll("a") ?? [])];
    const at = results.indexOf(document.activeElement as HTMLAnchorElement);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && event.target === field.current) results[0]?.click();
    else if (by !== undefined) (results[at + by] ?? (by < 0 ? field.current : null))?.focus();
    else return;
    event.preventDefault();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the field and the results.
    <div onKeyDown={onKeyDown}>
      <Heading>Search</Heading>
      <input
        ref={field}
        type="search"
        aria-label="Search tasks and questions"
        placeholder="Words in tasks, questions or agents"
        autoComplete="off"
        value={text}
        onChange={({ target }) => setText(target.value)}
        className="touch w-full rounded-xl border border-edge bg-surface px-3.5 py-2.5 text-base"
      />
      <p role="status" className="mt-2 mb-4 min-h-5 text-faint text-sm">
        {words.length > 0 && countOf(found.length)}
        {busy && ", searching older questions…"}
        {is_partial && ". Older questions can't be searched while offline."}
      </p>
      {found.length > 0 && pattern && (
        <ul ref={list} aria-label="Results" className="card divide-y divide-line overflow-hidden">
          {found.slice(0, shown).map((one) => (
            <li key={one.id}>
              <Part name="result">
                <Result one={one} words={words} pattern={pattern} />
              </Part>
            </li>
          ))}
        </ul>
      )}
      {found.length === 0 && words.length > 0 && !busy && (
        <Empty icon={SearchX} title="Nothing found">
          Every word must appear in a task, a question or the name of its agent.
        </Empty>
      )}
      {found.length > shown && <More onClick={() => setShown(shown + STEP)} />}
      {fault && <Problem>{fault.message}</Problem>}
      {has_more && found.length <= shown && <More onClick={more}>Search older questions too</More>}
    </div>
  );
}

const countOf = (count: number): string =>
  count === 1 ? "1 result" : `${count.toLocaleString("en")} results`;

interface ResultProps {
  readonly one: Task | Question;
  readonly words: readonly string[];
  readonly pattern: RegExp;
}

function Result({ one, words, pattern }: ResultProps) {
  const key = useKey(one.key_id);
  const [name, ...more] = partsOf(one);
  const title = excerptOf(name, words) ?? name.slice(0, 200);
  const answer = isTask(one) ? null : one.answer;
  const answered = answer === null ? null : (excerptOf(answer, words) ?? answer.slice(0, 200));
  // Excerpts of other texts, until each word that was found is shown.
  let missing = wordsNotIn(`${title}\n${answered ?? ""}\n${labelOf(key)}`, words);
  const elsewhere: string[] = [];
  for (const part of more) {
    if (part === answer || missing.length === 0) continue;
    const excerpt = excerptOf(part, missing);
    if (excerpt === null) continue;
    elsewhere.push(excerpt);
    missing = wordsNotIn(excerpt, missing);
  }
  const Icon = isTask(one) ? ListTodo : MessageCircleQuestion;
  // Prompts, notes and descriptions are Markdown; commands, titles, options and answers are not.
  const [Name, More] = isTask(one)
    ? [Marked, MarkedLine]
    : [one.action ? Marked : MarkedLine, Marked];
  return (
    <a
      href={`#/${isTask(one) ? "tasks" : "questions"}/${one.id}`}
      className="flex items-start gap-3 px-4 py-3 -outline-offset-4 hover:bg-sunken/50"
    >
      <Icon aria-hidden className="mt-0.5 size-5 shrink-0 text-faint" />
      <span className="min-w-0 flex-1">
        <bdi dir="auto" className="said line-clamp-3 font-medium">
          <Name text={title} pattern={pattern} />
        </bdi>
        {answered !== null && (
          <bdi dir="auto" className="said line-clamp-3 text-sm">
            <Marked text={answered} pattern={pattern} />
          </bdi>
        )}
        {elsewhere.map((excerpt) => (
          <bdi key={excerpt} dir="auto" className="said line-clamp-3 text-soft text-sm">
            <More text={excerpt} pattern={pattern} />
          </bdi>
        ))}
        <span className="mt-0.5 flex items-center gap-2 text-faint text-sm">
          <LineWithAgo at={isTask(one) ? one.updated_at : closedAt(one)} separator=" · ">
            <bdi>
              <Marked text={labelOf(key)} pattern={pattern} />
            </bdi>
          </LineWithAgo>
          {isTask(one) ? (
            <Badge tone={STATUS_TONES[one.status]}>{STATUS_NAMES[one.status]}</Badge>
          ) : (
            <QuestionBadge question={one} />
          )}
        </span>
      </span>
    </a>
  );
}

interface MarkedProps {
  readonly text: string;
  readonly pattern: RegExp;
}

/** A text in one line without the marks of Markdown, unless a word is found only in them. */
function MarkedLine({ text, pattern }: MarkedProps) {
  const line = useLine(text);
  const is_lost = text.search(pattern) >= 0 && line.search(pattern) < 0;
  return <Marked text={is_lost ? text : line} pattern={pattern} />;
}

function Marked({ text, pattern }: MarkedProps) {
  // `split` with a group puts the matched words at the odd places.
  const parts = text.split(pattern).map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no ids.
      <mark key={at} className="rounded-sm bg-warn-soft text-warn">
        {part}
      </mark>
    ) : (
      part
    ),
  );
  return <>{parts}</>;
}
