/** A person whose ntfy channel takes replies, with an agent. */

import { expect } from "bun:test";
import { type Agent, createAgent, createPerson, type Person } from "./client.ts";
import type { Published, startNtfy } from "./ntfy.ts";
import { until } from "./until.ts";

type Ntfy = Awaited<ReturnType<typeof startNtfy>>;

/** Makes a person, an agent and a channel with replies over the Relay at `url`. `body`: more of the channel. */
export async function createRepliesPerson(url: string, ntfy: Ntfy, body: object = {}) {
  const person = await createPerson(url);
  const agent = await createAgent(url, person, "builder");
  return { person, agent, ...(await addReplies({ person, agent }, ntfy, body)) };
}

interface People {
  readonly person: Person;
  readonly agent: Agent;
}

/** Adds a channel with replies. */
export async function addReplies({ person, agent }: People, ntfy: Ntfy, body: object = {}) {
  const given = { type: "ntfy", label: "Phone", url: ntfy.url, replies: true, ...body };
  const made = await person.send("POST /v1/channels", given);
  expect(made.status).toBe(201);
  const { channel, url } = made.body;
  const topic = new URL(url).pathname.slice(1);
  /** The channel as it is now. */
  const read = async () =>
    (await person.send("GET /v1/channels")).body.channels.find((one: any) => one.id === channel.id);
  /** Asks, and waits for the notification. */
  const ask = async (question: object = {}) => {
    const given = { prompt: "Ship it?", ...question };
    const { body: asked } = await agent.send("POST /v1/questions", given);
    const sent = await until(() =>
      ntfy.published.find((one) => one.topic === topic && one.sequence_id === asked.id),
    );
    return { id: asked.id as string, sent };
  };
  const question = async (id: string) => (await person.send(`GET /v1/questions/${id}`)).body;
  /** The question once it is no longer pending. */
  const ended = (id: string) =>
    until(async () => {
      const now = await question(id);
      return now.status !== "pending" && now;
    });
  /** Waits until Relay listens for the channel. */
  const heard = (replies: string) =>
    until(() => ntfy.listening().some((topics) => topics.includes(replies)));
  return { channel, url, topic, read, ask, question, ended, heard };
}

/** What the button of this label writes, and where. */
export function buttonOf(sent: Published, label: string): { topic: string; message: string } {
  const action = (sent.actions as { label: string; body: string }[]).find(
    (one) => one.label === label,
  );
  return JSON.parse(action!.body);
}

export const labelsOf = (sent: Published): string[] =>
  ((sent.actions ?? []) as { label: string }[]).map(({ label }) => label);
