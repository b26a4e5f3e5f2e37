/** openapi-typescript with openapi-fetch: the document's types, and a `fetch` client. */

import type { Client } from "../client.ts";
import { tryTypescript } from "../typescript.ts";

const TYPES = "7.13.0";
const FETCH = "0.17.0";

export const clients: readonly Client[] = [
  {
    name: "openapi-typescript, openapi-fetch",
    surface: "rest",
    needs: ["npm", "npx"],
    run: (context) =>
      tryTypescript(context, {
        packages: [`openapi-typescript@${TYPES}`, `openapi-fetch@${FETCH}`],
        version: `${TYPES}, ${FETCH}`,
        program: "openapi-fetch.ts",
        generate: () =>
          context.exec([
            "npx",
            "openapi-typescript",
            `${context.url}/v1/openapi.json`,
            "-o",
            "api.ts",
          ]),
      }),
  },
];
