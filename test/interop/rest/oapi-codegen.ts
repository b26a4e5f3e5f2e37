/** oapi-codegen: types and a client in Go. */

import type { Client } from "../client.ts";
import { checkReport } from "../report.ts";
import { readProgram } from "../typescript.ts";

const VERSION = "2.8.2";

export const clients: readonly Client[] = [
  {
    name: "oapi-codegen",
    surface: "rest",
    needs: ["go"],
    async run({ url, exec, write }) {
      const document = await (await fetch(`${url}/v1/openapi.json`)).text();
      await write("openapi.json", document);
      await write("go.mod", "module interop\n\ngo 1.22\n");
      await write("main.go", await readProgram("oapi-codegen.go"));
      const tool = `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v${VERSION}`;
      const generated = await exec([
        ...["go", "run", tool, "-generate", "types,client", "-package", "relay", "openapi.json"],
      ]);
      await write("relay/relay.go", generated);
      await exec(["go", "mod", "tidy"]);
      await exec(["go", "build", "-o", "main", "."]);
      const output = await exec(["./main"], { env: { RELAY_URL: url }, seconds: 60 });
      const checks = {
        generate: "ok",
        compile: "ok",
        ...(await checkReport(url, output)),
      } as const;
      return { version: VERSION, checks };
    },
  },
];
