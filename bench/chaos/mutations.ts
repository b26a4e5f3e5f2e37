/** Faults that chaos must find: each is made in a copy of the code by replacing a text. */

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FaultKind } from "./faults.ts";
import type { StoreKind } from "./servers.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What a run of chaos needs of the checkout. */
const PARTS = [
  ...["src", "routers", "db", "test/support", "bench", "docs"],
  ...["package.json", "tsconfig.json", "bunfig.toml"],
];

interface Mutation {
  readonly name: string;
  readonly file: string;
  /** Each text occurs once and is replaced by the other. */
  readonly replace: readonly (readonly [text: string, by: string])[];
  /** The shortest run that finds it. */
  readonly store: StoreKind;
  readonly seconds: number;
  readonly faults: readonly FaultKind[];
  /** False: the code as it is, which must not be reported. */
  readonly is_fault: boolean;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "the code as it is",
    file: "src/events/waiters.ts",
    replace: [],
    store: "server",
    seconds: 15,
    faults: ["slow store"],
    is_fault: false,
  },
  {
    name: "the event of an answer is left out",
    file: "src/services/shared/question-rows.ts",
    replace: [
      [
        'events: [eventOf(changed, "question.updated", account_id, { question: asListed(next) })],',
        "events: [],",
      ],
    ],
    store: "file",
    seconds: 5,
    faults: ["account leaves"],
    is_fault: true,
  },
  {
    name: "a wait listens after its first read",
    file: "src/events/waiters.ts",
    replace: [
      ["      feed.listen(subjects, sleep);\n      sleeps.add(sleep);\n", ""],
      [
        "        if (found.done || closed) return found.value;\n",
        "        feed.listen(subjects, sleep);\n        sleeps.add(sleep);\n        if (found.done || closed) return found.value;\n",
      ],
    ],
    store: "server",
    seconds: 45,
    faults: ["slow store"],
    is_fault: true,
  },
  {
    name: "an answer does not look whether the question is pending",
    file: "db/questions.ts",
    replace: [[`p("id")} and status = 'pending' and \${ofLiveKey`, `p("id")} and \${ofLiveKey`]],
    store: "file",
    seconds: 8,
    faults: ["account leaves"],
    is_fault: true,
  },
];

/** Copies the code into `folder` with the mutation. Throws if a text to replace is not there exactly once. */
export function mutatedTree(folder: string, { file, replace }: Mutation): string {
  mkdirSync(folder);
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const path = join(folder, file);
  let code = readFileSync(path, "utf8");
  for (const [text, by] of replace) {
    if (code.split(text).length !== 2) {
      throw new Error(`${file} no longer has, once: ${text.trim()}`);
    }
    code = code.replace(text, () => by);
  }
  writeFileSync(path, code);
  return folder;
}
