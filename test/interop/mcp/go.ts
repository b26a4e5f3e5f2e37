/** The official MCP client in Go. */

import type { Client } from "../client.ts";
import { copyScripts, tryClient } from "../mcp-client.ts";

const VERSION = "1.8.0";

export const clients: readonly Client[] = [
  {
    name: "Go SDK",
    surface: "mcp",
    needs: ["go"],
    async run(context) {
      await context.write("go.mod", "module relay-interop\n\ngo 1.25.0\n");
      await copyScripts(context, "main.go");
      await context.exec(["go", "get", `github.com/modelcontextprotocol/go-sdk@v${VERSION}`]);
      await context.exec(["go", "mod", "tidy"]);
      await context.exec(["go", "build", "-o", "try", "."]);
      return { version: VERSION, checks: await tryClient(context, ["./try"]) };
    },
  },
];
