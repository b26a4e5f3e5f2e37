/** openapi-python-client: a client in Python, with attrs classes and httpx. */

import type { Client } from "../client.ts";
import { createVenv, tryPython } from "../python.ts";

const VERSION = "0.29.1";

export const clients: readonly Client[] = [
  {
    name: "openapi-python-client",
    surface: "rest",
    needs: ["python3"],
    async run(context) {
      const { url, exec, dir } = context;
      const packages = [`openapi-python-client==${VERSION}`, "httpx", "attrs", "python-dateutil"];
      await createVenv(context, packages);
      const generate = ["generate", "--url", `${url}/v1/openapi.json`, "--output-path", "api"];
      // It formats the generated code with a program of its environment.
      const env = { PATH: `${dir}/venv/bin:${process.env.PATH}` };
      await exec(["venv/bin/openapi-python-client", ...generate, "--fail-on-warning"], { env });
      const checks = await tryPython(context, "openapi-python-client.py", "api");
      return { version: VERSION, checks };
    },
  },
];
