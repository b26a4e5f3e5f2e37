/** openapi-generator: a `fetch` client in TypeScript. */

import type { Client } from "../client.ts";
import { GENERATOR_NEEDS, GENERATOR_VERSION, generateClient } from "../openapi-generator.ts";
import { tryTypescript } from "../typescript.ts";

export const clients: readonly Client[] = [
  {
    name: "openapi-generator, typescript-fetch",
    surface: "rest",
    needs: [...GENERATOR_NEEDS, "npm", "npx"],
    run: (context) =>
      tryTypescript(context, {
        packages: [],
        version: GENERATOR_VERSION,
        program: "typescript-fetch.ts",
        // With the generator's own names, the code does not compile under `strict`.
        generate: () =>
          generateClient(context, "typescript-fetch", "api", ["modelPropertyNaming=original"]),
      }),
  },
];
