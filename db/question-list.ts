/** Queries on lists of questions, all of them or those with the words of a search (§5.7.1). */

import { QUESTION_STATUSES, type Question, smallAscii } from "../src/model/question.ts";
import { ofLiveKey } from "./keys.ts";
import { allQuestions, isKnownQuestion, type QuestionRow } from "./questions.ts";
import { questions } from "./schema.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { byShape, qb, select } from "./store/statement.ts";
import type { Cell, Statement } from "./store/store.ts";
import { END_OF_TIME } from "./tasks.ts";

/** A position in a list: that of the question with this time and id. */
export type QuestionPosition = Pick<Question, "created_at" | "id">;

export interface QuestionFilter {
  readonly scope: "key" | "account";
  readonly owner: string;
  readonly statuses: readonly Question["status"][];
  readonly task_id: string | null;
  /** Words that a question must have, all of them; null: no search. */
  readonly words: readonly string[] | null;
  /** Epoch seconds; questions that expire before are not pending. */
  readonly now: number;
  /** Only questions after this position; null for the first page. */
  readonly after: QuestionPosition | null;
  /** Only questions down to and including this position; null: to the end of the list. */
  readonly down_to: QuestionPosition | null;
  readonly limit: number;
  /** True: only rows that this version knows, which takes longer ({@link lacksRows}). */
  readonly only_known?: boolean;
}

/** The parameters of a list. It has those that its filter needs. */
type ListValues = Readonly<Record<WordName, Cell>> & {
  readonly owner: string;
  readonly task_id: string | null;
  readonly now: number;
  readonly after_at: number;
  readonly after_id: string;
  readonly to_at: number;
  readonly to_id: string;
  readonly limit: number;
};

const lists = byShape<ListValues, QuestionRow>();
const positions = byShape<ListValues & { readonly offset: number }, QuestionPosition>();

/** The newest questions that match (§5.7.1). */
export function questionList(filter: QuestionFilter): Statement<QuestionRow> {
  const merged = merge(filter);
  return lists(merged.shape, () =>
    select(
      allQuestions,
      sql`join (select place from (${merged.sql()}) order by created_at desc, id desc limit ${p("limit")}) on place = questions.rowid`,
      { order: newestFirst },
    ),
  )(merged.values);
}

const newestFirst = ({ question: a }: QuestionRow, { question: b }: QuestionRow): number =>
  b.created_at - a.created_at || (a.id < b.id ? 1 : -1);

/** The position `offset` questions into the list, where a search stops looking. */
export function questionPosition(filter: QuestionFilter, offset: number) {
  const merged = merge({ ...filter, words: null, limit: offset + 1 });
  return positions(merged.shape, () =>
    select(
      qb.select({ created_at: questions.created_at, id: questions.id }).from(questions),
      sql`where id = (select id from (${merged.sql()}) order by created_at desc, id desc limit 1 offset ${p("offset")})`,
      { one: true },
    ),
  )({ ...merged.values, offset });
}

function merge(filter: QuestionFilter) {
  const statuses = QUESTION_STATUSES.filter((status) => filter.statuses.includes(status));
  const { scope, words, only_known = false } = filter;
  const of_task = filter.task_id !== null;
  const bounded = filter.down_to !== null;
  const words_shape = words && shapeOf(words);
  const searching = words_shape ? Object.values(words_shape).join() : "";
  const time = <Name extends string>(name: Name) => p(name, questions.created_at);
  const ranges = () => {
    const owner = sql.identifier(scope === "key" ? "key_id" : "account_id");
    const conditions: Sql<ListValues>[] = [
      sql`${owner} = ${p("owner")}`,
      sql`(created_at, id) < (${time("after_at")}, ${p("after_id")})`,
      ofLiveKey("questions"),
    ];
    if (bounded) conditions.push(sql`(created_at, id) >= (${time("to_at")}, ${p("to_id")})`);
    if (of_task) conditions.push(sql`task_id = ${p("task_id")}`);
    if (only_known) conditions.push(isKnownQuestion);
    if (words_shape) conditions.push(hasWords(words_shape));
    const range = (status: string): Sql<ListValues> => {
      const due = sql`expires_at > ${p("now", questions.expires_at)}`;
      const all = [...conditions, sql`status = ${sql.raw(`'${status}'`)}`];
      if (status === "pending") all.push(due);
      return sql`select * from (select rowid as place, id, created_at from questions where ${sql.join(all, sql` and `)} order by created_at desc, id desc limit ${p("limit")})`;
    };
    return sql.join(statuses.map(range), sql` union all `);
  };
  return {
    shape: [scope, of_task, bounded, searching, only_known, ...statuses].join(" "),
    sql: ranges,
    values: {
      owner: filter.owner,
      task_id: filter.task_id,
      now: filter.now,
      after_at: filter.after?.created_at ?? END_OF_TIME,
      after_id: filter.after?.id ?? "",
      to_at: filter.down_to?.created_at ?? 0,
      to_id: filter.down_to?.id ?? "",
      limit: filter.limit,
      ...formsOf(words ?? []),
    },
  };
}

/**
 * The texts of a question that a search looks at, as one, in which SQLite makes the letters of ASCII small. The context
 * is not one of them, for its length. A word has no white space, so it cannot match across two of them.
 */
const searchedText = sql`lower(prompt || char(10) || coalesce(answer, '') || char(10) || coalesce(note, '') || char(10)
  || coalesce((select group_concat(value, char(10)) from json_each(options)), '') || char(10)
  || coalesce(fallback, '') || char(10) || coalesce(draft, '') || char(10)
  || coalesce((select label from keys where keys.id = questions.key_id), ''))`;
/** The forms of a word that are looked for. A word of ASCII needs the first one only. */
const FORMS = ["small", "typed", "large", "title"] as const;
type Form = (typeof FORMS)[number];
type WordName = `${Form}_${number}`;

/** What a search asks of the SQL: the number of words, and whether all have one form. */
interface WordsShape {
  readonly count: number;
  readonly is_ascii: boolean;
}

const isAscii = (word: string): boolean => !/\P{ASCII}/u.test(word);

const shapeOf = (words: readonly string[]): WordsShape => ({
  count: words.length,
  is_ascii: words.every(isAscii),
});

/**
 * True in SQL if the texts of the question have each word. `instr` takes a hundredth of the time of `like` for a word
 * that almost matches everywhere. The limit keeps SQLite from making the text again for each word.
 */
function hasWords({ count, is_ascii }: WordsShape): Sql<ListValues> {
  const forms = is_ascii ? FORMS.slice(0, 1) : FORMS;
  const hasWord = (at: number): Sql<ListValues> => {
    const hasForm = (form: Form): Sql<ListValues> =>
      sql`instr(searched, ${p(`${form}_${at}`)}) > 0`;
    return sql`(${sql.join(forms.map(hasForm), sql` or `)})`;
  };
  const all = Array.from({ length: count }, (_, at) => hasWord(at));
  return sql`exists (select 1 from (select ${searchedText} as searched limit 1) where ${sql.join(all, sql` and `)})`;
}

/** The words of a search in their forms, by the names of its parameters. A form that is another one again is null. */
function formsOf(words: readonly string[]): Record<WordName, Cell> {
  const values: Record<WordName, Cell> = {};
  for (const [at, typed] of words.entries()) {
    const small = typed.toLowerCase();
    const [first = ""] = small;
    const title = first.toUpperCase() + small.slice(first.length);
    const seen = new Set<string>();
    for (const [form, word] of Object.entries({
      small,
      typed,
      large: small.toUpperCase(),
      title,
    })) {
      const searched = smallAscii(word);
      values[`${form as Form}_${at}`] = seen.has(searched) ? null : searched;
      seen.add(searched);
    }
  }
  return values;
}
