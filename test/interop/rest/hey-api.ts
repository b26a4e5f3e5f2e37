/** hey-api: a `fetch` client with functions, and server-sent events. */

import type { Client } from "../client.ts";
import { tryTypescript } from "../typescript.ts";

const VERSION = "0.99.0";

export const clients: readonly Client[] = [
  {
    name: "hey-api",
    surface: "rest",
    needs: ["npm", "npx"],
    run: (context) =>
      tryTypescript(context, {
        packages: [`@hey-api/openapi-ts@${VERSION}`],
        version: VERSION,
        program: "hey-api.ts",
        generate: () =>
          context.exec(["npx", "openapi-ts", "-i", `${context.url}/v1/openapi.json`, "-o", "api"]),
      }),
  },
];
