/** orval: `fetch` functions. */

import type { Client } from "../client.ts";
import { tryTypescript } from "../typescript.ts";

const VERSION = "8.38.0";

export const clients: readonly Client[] = [
  {
    name: "orval",
    surface: "rest",
    needs: ["npm", "npx"],
    run: (context) =>
      tryTypescript(context, {
        packages: [`orval@${VERSION}`],
        version: VERSION,
        program: "orval.ts",
        async generate() {
          const output = { target: "api.ts", client: "fetch", baseUrl: context.url };
          const config = { relay: { input: `${context.url}/v1/openapi.json`, output } };
          await context.write("orval.config.mjs", `export default ${JSON.stringify(config)};`);
          await context.exec(["npx", "orval"]);
        },
      }),
  },
];
