/** openapi-generator: a client in Go. */

import type { Client } from "../client.ts";
import { GENERATOR_NEEDS, GENERATOR_VERSION, generateClient } from "../openapi-generator.ts";
import { checkReport } from "../report.ts";
import { readProgram } from "../typescript.ts";

export const clients: readonly Client[] = [
  {
    name: "openapi-generator, go",
    surface: "rest",
    needs: [...GENERATOR_NEEDS, "go"],
    async run(context) {
      const { url, exec, write } = context;
      await generateClient(context, "go", "api", ["withGoMod=false"]);
      await write("go.mod", "module interop\n\ngo 1.22\n");
      await write("main.go", await readProgram("openapi-generator.go"));
      // Its tests name a module that does not exist.
      await exec(["rm", "-rf", "api/test"]);
      await exec(["go", "mod", "tidy"]);
      await exec(["go", "build", "-o", "main", "."]);
      const output = await exec(["./main"], { env: { RELAY_URL: url }, seconds: 60 });
      const checks = {
        generate: "ok",
        compile: "ok",
        ...(await checkReport(url, output)),
      } as const;
      return { version: GENERATOR_VERSION, checks };
    },
  },
];
