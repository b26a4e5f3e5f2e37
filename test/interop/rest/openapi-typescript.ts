/** openapi-typescript with openapi-fetch: types of the document, and a client of `fetch`. */

import type { Client } from "../client.ts";

export const clients: readonly Client[] = [
  {
    name: "openapi-typescript + openapi-fetch",
    surface: "rest",
    needs: ["npm", "node"],
    async run({ url, exec, write }) {
      await write("package.json", '{ "type": "module" }');
      const packages = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3"];
      await exec(["npm", "install", "--no-audit", "--no-fund", ...packages]);
      await exec(["npx", "openapi-typescript", `${url}/v1/openapi.json`, "-o", "api.ts"]);
      return { version: "7.13.0 + 0.17.0", checks: { generate: "ok" } };
    },
  },
];
