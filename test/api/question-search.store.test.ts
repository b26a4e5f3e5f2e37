/** The search in the list of questions (§5.7.1). */

import { expect, test } from "bun:test";
import type { Question } from "../../src/model/question.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Answer,
  ask,
  createAgent,
  createPair,
  createPerson,
  type Send,
} from "../support/client.ts";
import { connectTo, createTestStore } from "../support/store.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });

const CLOSED = "status=answered,expired,cancelled";
const ALL = `${CLOSED},pending`;

/** The prompts of the questions on one page. */
async function found(send: Send, search: string, more = `&${ALL}`): Promise<string[]> {
  const { status, body } = await send(
    `GET /v1/questions?search=${encodeURIComponent(search)}${more}`,
  );
  expect(status).toBe(200);
  return body.questions.map(({ prompt }: Question) => prompt);
}

test("a search finds prompts, answers, notes, options, fallbacks and agents by every word [§5.7.1(2)] [§10.2 search_words]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "Ledger bot");
  const deploy = await ask(agent.send, { prompt: "Deploy to Staging?" });
  const sent = { answer: "No", note: "Wait for the 100%_audit!" };
  await person.send(`POST /v1/questions/${deploy.id}/answer`, sent);
  const colour = { kind: "choice", options: ["Ärgerlich", "Blue 'quoted' \"x\""] };
  await ask(agent.send, { prompt: "Colour?", ...colour, context: "secret word" });
  const rounding = await ask(other.send, {
    prompt: "Rounding?",
    kind: "text",
    fallback: "Half up",
  });
  await person.send(`POST /v1/questions/${rounding.id}/answer`, { answer: "To EVEN, ЖУРНАЛ" });
  const { send } = person;
  expect(await found(send, "deploy")).toEqual(["Deploy to Staging?"]);
  expect(await found(send, "  STAGING\tdeploy ")).toEqual(["Deploy to Staging?"]);
  expect(await found(send, "audit")).toEqual(["Deploy to Staging?"]);
  expect(await found(send, "even half")).toEqual(["Rounding?"]);
  expect(await found(send, "ledger rounding")).toEqual(["Rounding?"]);
  expect(await found(send, "журнал")).toEqual(["Rounding?"]);
  expect(await found(send, "ärger BLUE")).toEqual(["Colour?"]);
  expect(await found(send, "ÄRGER")).toEqual(["Colour?"]);
  // Every sign stands for itself.
  expect(await found(send, "100%_audit!")).toEqual(["Deploy to Staging?"]);
  for (const nothing of ["d%y", "_eploy", "!", "'", "100%audit", "deploy colour"]) {
    const expected = nothing === "!" ? ["Deploy to Staging?"] : nothing === "'" ? ["Colour?"] : [];
    expect(await found(send, nothing)).toEqual(expected);
  }
  // The context is not searched, and words after the eighth are ignored.
  expect(await found(send, "secret")).toEqual([]);
  expect(await found(send, "deploy nowhere")).toEqual([]);
  expect(await found(send, "to To t o d e p l y nowhere")).toEqual(["Deploy to Staging?"]);
  // The other filters count too.
  expect(await found(send, "e", "")).toEqual(["Colour?"]);
  expect(await found(send, "o", `&${ALL}&key_id=${other.key.id}`)).toEqual(["Rounding?"]);
  const stranger = await createPerson(app.url);
  expect(await found(stranger.send, "deploy")).toEqual([]);
});

test("a search finds labels as the agent wrote them, and words as the person types them [§5.7.1(2)]", async () => {
  const { person, agent } = await createPair(app.url);
  const options = ['Say "a"b', "C:\\temp", "Two\nlines"];
  await ask(agent.send, { prompt: "Which?", kind: "choice", options });
  await ask(agent.send, { prompt: "İzmir or ÄpfelÖlö?" });
  const { send } = person;
  for (const word of ['"a"b', "c:\\TEMP", "lines"]) {
    expect(await found(send, word)).toEqual(["Which?"]);
  }
  // What JSON adds to a label is not a part of it.
  for (const word of ["[", '","', '\\"', "\\\\", "nlines"])
    expect(await found(send, word)).toEqual([]);
  for (const word of ["İzmir", "äPFELÖlö", "ÄpfelÖlö"]) {
    expect(await found(send, word)).toEqual(word.startsWith("ä") ? [] : ["İzmir or ÄpfelÖlö?"]);
  }
});

test("a word that almost matches everywhere takes about the time of any other", async () => {
  const { person, agent } = await createPair(app.url);
  const long = { kind: "text", draft: "a".repeat(4000), fallback: "a".repeat(4000) };
  const first = await ask(agent.send, { prompt: "a".repeat(2000), ...long });
  const store = connectTo(database_url);
  const { columns } = await store.execute("select * from questions limit 0");
  const others = columns.filter((name) => name !== "id");
  await store.execute({
    sql: `insert into questions (id, ${others})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 240)
      select printf('qst_%032x', 4096 + i), ${others} from questions, n where id = ?`,
    args: [first.id],
  });
  store.close();
  const timeOf = async (word: string): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      expect(await found(person.send, word)).toEqual([]);
      times.push(performance.now() - from);
    }
    return Math.min(...times);
  };
  const usual = await timeOf("zebra");
  expect(await timeOf(`${"a".repeat(199)}b`)).toBeLessThan(40 * usual);
});

test("a search of a wrong form, or by an agent, is refused [§5.7.1] [§10.1 search]", async () => {
  const { person, agent } = await createPair(app.url);
  const fields = async (send: Send, search: string) => {
    const { status, body } = await send(`GET /v1/questions?search=${encodeURIComponent(search)}`);
    return [status, Object.keys(body.fields ?? {})];
  };
  for (const bad of ["", " \t", "x".repeat(201)]) {
    expect(await fields(person.send, bad)).toEqual([422, ["search"]]);
  }
  expect(await fields(person.send, "x".repeat(200))).toEqual([200, []]);
  expect(await fields(agent.send, "x")).toEqual([422, ["search"]]);
});

test("a search goes through all questions, each page through at most 250 of them [§5.7.1(3)] [§10.3 question_scan]", async () => {
  const { person, agent } = await createPair(app.url);
  const needle = await ask(agent.send, { prompt: "The needle?" });
  await person.send(`POST /v1/questions/${needle.id}/answer`, { answer: "Yes" });
  const store = connectTo(database_url);
  // 700 newer questions of three agents, inserted: asking and answering each would prove no more.
  const { columns } = await store.execute("select * from questions limit 0");
  const own = ["id", "key_id", "prompt", "status", "created_at"];
  const others = columns.filter((name) => !own.includes(name));
  const keys = [agent.key.id];
  for (let i = 0; i < 2; i++) keys.push((await createAgent(app.url, person)).key.id);
  await store.execute({
    sql: `insert into questions (${own}, ${others})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 700)
      select printf('qst_%032x', i), json_extract(?, '$[' || (i % 3) || ']'),
        iif(i % 300 = 7, 'Needles ', 'Hay ') || i, iif(i % 2, 'answered', 'cancelled'),
        created_at + i, ${others}
      from questions, n where id = ?`,
    args: [JSON.stringify(keys), needle.id],
  });
  store.close();
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const query: string = `search=needle&${CLOSED}${cursor === null ? "" : `&cursor=${cursor}`}`;
    const { status, body }: Answer = await person.send(`GET /v1/questions?${query}`);
    expect(status).toBe(200);
    pages.push(body.questions.map(({ prompt }: Question) => prompt));
    cursor = body.next_cursor;
  } while (cursor !== null);
  expect(pages).toEqual([["Needles 607"], ["Needles 307"], ["Needles 7", "The needle?"]]);
  // A page that is full continues where it ended, not after the stretch.
  const first = await person.send(`GET /v1/questions?search=hay&${CLOSED}&limit=2`);
  expect(first.body.questions.map(({ prompt }: Question) => prompt)).toEqual([
    "Hay 700",
    "Hay 699",
  ]);
  const second = `search=hay&${CLOSED}&limit=1&cursor=${first.body.next_cursor}`;
  const { body } = await person.send(`GET /v1/questions?${second}`);
  expect(body.questions[0].prompt).toBe("Hay 698");
  // A cursor belongs to its search.
  const wrong = await person.send(
    `GET /v1/questions?search=straw&${CLOSED}&cursor=${first.body.next_cursor}`,
  );
  expect(Object.keys(wrong.body.fields)).toEqual(["cursor"]);
});
