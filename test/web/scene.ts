/** A realistic account, for looking at every view. */

import {
  type Agent,
  createAgent,
  createPerson,
  createTask,
  DEVICE,
  type Person,
} from "../support/client.ts";

export interface Scene {
  readonly person: Person;
  /** One of the agents. */
  readonly laptop: Agent;
  /** Name of a view -> its address. */
  readonly views: Readonly<Record<string, string>>;
}

/** Creates and fills a new account. */
export async function createScene(url: string): Promise<Scene> {
  const person = await createPerson(url);
  const laptop = await createAgent(url, person, "Claude on my laptop");
  const release = await createAgent(url, person, "Release bot");
  const research = await createAgent(url, person, "Research");
  const hosts = new Map([
    [laptop, "studio.local"],
    [release, "ci-7"],
    [research, "studio.local"],
  ]);
  type Who = typeof laptop;
  const post = async (who: Who, path: string, body: object) => {
    const headers = { "x-agent-host": hosts.get(who)! };
    return (await who.send(`POST ${path as "/"}`, body, { headers })).body;
  };
  const task = async (who: Who, body: object, patch?: object) => {
    const { id } = await post(who, "/v1/tasks", body);
    if (patch) await who.send(`PATCH /v1/tasks/${id}`, patch);
    return id as string;
  };
  const asked = async (who: Who, body: object, answer?: string) => {
    const { id } = await post(who, "/v1/questions", body);
    if (answer) await person.send(`POST /v1/questions/${id}/answer`, { answer });
    return id as string;
  };

  for (const title of ["Write the release notes", "Rename the staging database"]) {
    await task(release, { title, status: "done" });
  }
  await task(laptop, { title: "Try out the new compiler", status: "cancelled" });
  await task(research, { title: "Collect the interview questions", priority: "low" });
  await task(laptop, { title: "Find out why the nightly import is slow" });
  await task(release, { title: "Update the changelog", priority: "high" });
  await task(
    research,
    { title: "Compare three vector databases", status: "in_progress" },
    { progress: 20, status_note: "Reading the benchmarks" },
  );
  const billing = await task(
    laptop,
    {
      title: "Move the billing service to the new API",
      description:
        "Replace the client. Keep the old one behind a flag until the numbers match for a week.",
      status: "in_progress",
      priority: "high",
    },
    { progress: 62, status_note: "Comparing the October invoices" },
  );
  await task(
    release,
    { title: "Release version 2.4", status: "in_progress", priority: "urgent" },
    { progress: 88, status_note: "Waiting for the final checks" },
  );
  await createTask(person.send, { title: "Read the June feedback", key_id: laptop.key.id });

  await asked(
    research,
    {
      prompt: "Which report should I send to the team?",
      kind: "choice",
      options: ["The short one", "The long one"],
    },
    "The short one",
  );
  const answered = await asked(
    laptop,
    { prompt: "Can I delete the branches that were merged in May?" },
    "Yes",
  );
  const late = { prompt: "Can I merge the dependency updates?" };
  const { id } = await post(laptop, "/v1/questions", late);
  await laptop.send(`DELETE /v1/questions/${id}`);
  await asked(release, {
    prompt: "All checks are green. Publish version 2.4 now?",
    expires_in: 300,
  });
  await asked(laptop, {
    prompt:
      "The October invoices differ in 3 of 1,204 cases, all due to rounding. How should I proceed?",
    kind: "choice",
    options: ["Round as before", "Use the new rounding", "Stop and wait for me"],
    context:
      "The old client rounds each line, the new one the sum:\n\n```diff\n-sum(lines.map(round))\n+round(sum(lines))\n```",
    url: "https://git.example.com/billing/pull/418",
    allow_other: true,
    fallback: "Stop and wait for me",
    task_id: billing,
    expires_in: 1_800,
  });
  await asked(research, {
    prompt: "Roughly how much can the database cost per month?",
    kind: "text",
    expires_in: 7_200,
  });

  await laptop.send("GET /v1/tasks/x");
  const text = "Please keep the old client's tests for now.";
  await person.send("POST /v1/messages", { key_id: laptop.key.id, text });
  const body = { ...DEVICE, apns_token: "aa01" };
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, body);

  const agent = `#/agents/${laptop.key.id}`;
  return {
    person,
    laptop,
    views: {
      questions: "#/questions",
      tasks: "#/tasks",
      task: `#/tasks/${billing}`,
      "new-task": "#/tasks/new",
      agents: "#/agents",
      agent,
      inbox: `${agent}/inbox`,
      activity: `${agent}/activity`,
      "agent-key": `${agent}/key`,
      setup: `${agent}/setup`,
      "new-agent": "#/agents/new",
      search: "#/search?q=billing",
      question: `#/questions/${answered}`,
      "no-question": "#/questions/qst_none",
      account: "#/account",
    },
  };
}
