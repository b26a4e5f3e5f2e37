/** openapi-generator: a client in Swift 6, whose names are checked; compiled where there is a compiler. */

import { Glob } from "bun";
import type { Client, Outcome } from "../client.ts";
import { GENERATOR_NEEDS, GENERATOR_VERSION, generateClient } from "../openapi-generator.ts";

/** Types of Swift, its concurrency and Foundation: a new declaration with such a name hides the type in the module. */
const TAKEN =
  "Task TaskGroup TaskLocal TaskPriority TaskExecutor Actor Clock Duration Instant Executor Error Result Character Set Array Dictionary Data Date URL UUID Locale Calendar Notification Operation Process Progress Stream Thread Timer Host Port Bundle Scanner Unit Dimension Decimal Predicate String Int Double Bool";

export const clients: readonly Client[] = [
  {
    name: "openapi-generator, swift6",
    surface: "rest",
    needs: GENERATOR_NEEDS,
    async run(context) {
      await generateClient(context, "swift6", "api");
      const declared = new Map<string, number>();
      for await (const file of new Glob("api/Sources/**/*.swift").scan(context.dir)) {
        const text = await Bun.file(`${context.dir}/${file}`).text();
        for (const [, name] of text.matchAll(
          /^(?:public |open |internal |final )*(?:struct|enum|class|protocol|actor) (\w+)/gm,
        )) {
          declared.set(name!, (declared.get(name!) ?? 0) + 1);
        }
      }
      const wrong = [...declared].filter(
        ([name, times]) => times > 1 || TAKEN.split(" ").includes(name),
      );
      const fault = `declares ${wrong.map(([name]) => name).join(", ")}`;
      const generate: Outcome = wrong.length === 0 && declared.size > 60 ? "ok" : { fault };
      if (Bun.which("swift") === null) return { version: GENERATOR_VERSION, checks: { generate } };
      await context.exec(["swift", "build"], { cwd: "api" });
      return { version: GENERATOR_VERSION, checks: { generate, compile: "ok" } };
    },
  },
];
