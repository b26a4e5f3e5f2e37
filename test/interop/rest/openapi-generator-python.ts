/** openapi-generator: a client in Python, with pydantic models. */

import type { Client } from "../client.ts";
import { GENERATOR_NEEDS, GENERATOR_VERSION, generateClient } from "../openapi-generator.ts";
import { createVenv, tryPython } from "../python.ts";

export const clients: readonly Client[] = [
  {
    name: "openapi-generator, python",
    surface: "rest",
    needs: [...GENERATOR_NEEDS, "python3"],
    async run(context) {
      await generateClient(context, "python", "api");
      await createVenv(context, ["./api"]);
      const checks = await tryPython(context, "openapi-generator.py", "api");
      return { version: GENERATOR_VERSION, checks };
    },
  },
];
