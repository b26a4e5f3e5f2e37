/** openapi-generator: a client in Kotlin, with data classes, Moshi and OkHttp. */

import type { Client } from "../client.ts";
import { GENERATOR_NEEDS, GENERATOR_VERSION, generateClient } from "../openapi-generator.ts";
import { checkReport } from "../report.ts";
import { readProgram } from "../typescript.ts";

export const clients: readonly Client[] = [
  {
    name: "openapi-generator, kotlin",
    surface: "rest",
    needs: GENERATOR_NEEDS,
    async run(context) {
      const { url, exec, write } = context;
      await generateClient(context, "kotlin", "api");
      await write("pom.xml", await readProgram("pom.xml"));
      await write("main/Main.kt", await readProgram("Main.kt"));
      await exec(["mvn", "-q", "-B", "compile"]);
      const env = { RELAY_URL: url };
      const output = await exec(["mvn", "-q", "-B", "-Dstyle.color=never", "exec:java"], {
        env,
        seconds: 120,
      });
      const checks = {
        generate: "ok",
        compile: "ok",
        ...(await checkReport(url, output)),
      } as const;
      return { version: GENERATOR_VERSION, checks };
    },
  },
];
