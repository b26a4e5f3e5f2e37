/** The client in Node.js. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { startTestApp } from "../support/app.ts";
import { tempFolder } from "../support/temp.ts";

const app = await startTestApp();
const CLIENT = new URL("../../src/client/client.ts", import.meta.url).pathname;

/** Asks and answers a question by requests, a wait and the event stream. */
const PROGRAM = `
import { createClient } from "${CLIENT}";
const url = process.argv[2];
const { token } = await createClient({ url }).accounts.create();
const person = createClient({ url, credential: token });
const { secret } = await person.keys.create({ label: "node" });
const agent = createClient({ url, credential: secret });
let answered;
for await (const { name, data } of person.events()) {
  console.log(name);
  if (name === "ready") answered = agent.questions.askAndWait({ prompt: "Go on?" });
  if (name === "question.created") await person.questions.answer(data.question.id, { answer: "Yes" });
  if (name === "question.updated") {
    console.log((await answered).answer);
    await person.accounts.delete();
  }
}
`;

test.if(Bun.which("node") !== null)(
  "the client's requests, waits and stream work in Node.js",
  async () => {
    const folder = tempFolder();
    const entry = join(folder, "program.ts");
    await Bun.write(entry, PROGRAM);
    const naming = "[name].mjs";
    await Bun.build({ entrypoints: [entry], target: "node", outdir: folder, naming });
    const node = Bun.spawn(["node", join(folder, "program.mjs"), app.url], { stdout: "pipe" });
    const lines = (await node.stdout.text()).trim().split("\n");
    expect(await node.exited).toBe(0);
    expect(lines.filter((line) => line !== "inbox.updated")).toEqual([
      "ready",
      "question.created",
      "question.updated",
      "Yes",
      "account.deleted",
    ]);
  },
);
