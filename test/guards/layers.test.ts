/** Who may import whom, by the import lines (docs/architecture.md, Layers), and how long a file may be. */

import { expect, test } from "bun:test";
import { Glob } from "bun";

const root = new URL("../../", import.meta.url).pathname;

/**
 * Layer -> the layers it may import, from the lowest up. A layer may always import itself and packages that
 * are not named below. `x types`: only its types.
 */
const ALLOWED: Record<string, readonly string[]> = {
  leaf: [],
  text: [],
  model: ["leaf"],
  observability: ["model", "leaf"],
  overload: ["model", "observability types", "leaf"],
  rpc: ["model", "overload", "leaf"],
  permission: ["model", "text", "overload", "leaf"],
  db: ["model", "observability", "overload", "leaf"],
  events: ["model", "observability", "leaf"],
  outbound: ["overload", "leaf"],
  oauth: ["outbound", "leaf"],
  notify: ["model", "text", "db", "outbound", "observability", "overload", "leaf"],
  auth: ["model", "db", "leaf"],
  services: [
    "permission types",
    "model",
    "db",
    "notify",
    "oauth",
    "outbound types",
    "events types",
    "auth types",
    "observability",
    "leaf",
  ],
  jobs: ["services", "db", "observability", "model types", "leaf"],
  routers: ["rpc", "permission", "model", "services types", "leaf"],
  mcp: ["routers types", "rpc", "model", "overload", "leaf"],
  http: [
    "mcp",
    "routers",
    "rpc",
    "oauth",
    "auth",
    "events types",
    "observability",
    "overload",
    "model",
    "leaf",
  ],
  // Talks to the server only over HTTP.
  client: ["model types", "routers types", "leaf types"],
  // A client of the server; the code that starts the server is loaded by `import()`.
  cli: ["client", "permission", "model types", "leaf"],
  // Only the server's types, and the rules of texts that both must apply alike.
  web: ["client", "text", "model types", "routers types"],
  root: [
    "db",
    "routers",
    "auth",
    "events",
    "notify",
    "oauth",
    "observability",
    "outbound",
    "overload",
    "http",
    "mcp",
    "jobs",
    "services",
    "leaf",
  ],
};

/** Packages that only these layers may import. */
const PACKAGES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(drizzle-orm|libsql|@libsql\/)/, ["db"]],
  [
    /^@trpc\/server(?!\/observable)/,
    ["rpc", "routers", "http", "leaf types", "client types", "web types"],
  ],
  // What a client's link is made of.
  [/^@trpc\/server\/observable/, ["web"]],
  [/^@modelcontextprotocol\//, ["mcp", "http"]],
  [/^(react|react-dom|@base-ui|@tanstack|@trpc\/client|lucide-react)(\/|$)/, ["web"]],
  // The page's, and the one for the start at a terminal.
  [/^uqr$/, ["web", "http", "cli"]],
  [/^tailwindcss/, ["http"]],
  [/^(cborg|@peculiar\/)/, ["auth"]],
  [/^apns2/, ["notify"]],
  [/^ipaddr\.js/, ["outbound", "http", "leaf"]],
  [/^@opentelemetry\//, ["observability"]],
  [/^(commander$|diff$|@bomb\.sh\/|smol-toml$)/, ["cli"]],
  // For configuration files, and to read JSON as it was written.
  [/^jsonc-parser$/, ["cli", "leaf"]],
  [/^trpc-to-openapi/, ["rpc types", "http"]],
];

function layerOf(path: string): string {
  if (path.startsWith("db/")) return "db";
  if (path.startsWith("routers/")) return "routers";
  const match = /^src\/(\w+)\//.exec(path);
  if (match) return match[1]!;
  return /^src\/(main|app|core)\.ts$/.test(path) ? "root" : "leaf";
}

async function imports() {
  const found: { file: string; target: string; types: boolean }[] = [];
  for (const folder of ["src", "routers", "db"]) {
    for await (const name of new Glob("**/*.{ts,tsx}").scan(root + folder)) {
      const file = `${folder}/${name}`;
      const text = await Bun.file(root + file).text();
      for (const [, types, from] of text.matchAll(/^import (type )?[^;]*?from "([^"]+)"/gm)) {
        const target = from!.startsWith(".")
          ? new URL(from!, `file:///${file}`).pathname.slice(1)
          : from!;
        found.push({ file, target, types: types !== undefined });
      }
    }
  }
  return found;
}

const may = (allowed: readonly string[], layer: string, types: boolean) =>
  allowed.includes(layer) || (types && allowed.includes(`${layer} types`));

test("a layer imports only what is below it", async () => {
  const all = await imports();
  expect(all.length).toBeGreaterThan(100);
  const wrong = all.filter(({ file, target, types }) => {
    if (!/^(src|db|routers)\//.test(target)) return false;
    const [from, to] = [layerOf(file), layerOf(target)];
    return from !== to && !may(ALLOWED[from] ?? [], to, types);
  });
  expect(wrong).toEqual([]);
});

test("the store's and tRPC's packages stay in their layers", async () => {
  const wrong = (await imports()).filter(({ file, target, types }) =>
    PACKAGES.some(
      ([pattern, layers]) => pattern.test(target) && !may(layers, layerOf(file), types),
    ),
  );
  expect(wrong).toEqual([]);
});

test("only their own files read time, chance and the environment", async () => {
  const OWN: readonly (readonly [RegExp, readonly string[]])[] = [
    [/\bDate\.now\(|\bnew Date\(\)/, ["src/clock.ts", "src/log.ts", "src/web/clock.ts"]],
    [/\bset(Timeout|Interval)\(/, ["src/clock.ts", "src/client/timers.ts", "src/web/clock.ts"]],
    [/\bsystemClock\b/, ["src/clock.ts", "src/main.ts", "src/cli/main.ts"]],
    [
      /\brandom(UUID|Bytes)\(|Math\.random\(/,
      // A nonce that a test could fix would be one that is used twice.
      ["src/ids.ts", "src/client/timers.ts", "db/store/vault.ts"],
    ],
    // In the bundle this is a text that the build replaces.
    [
      /\bprocess\.env\b/,
      [
        ...["src/main.ts", "src/cli/main.ts", "scripts/demo.ts", "src/http/pages/bundle.ts"],
        // Hides a variable from Bun.
        "src/outbound/no-proxy.ts",
        // Its proxy, which Bun's `fetch` would read by itself.
        "src/observability/otlp.ts",
        // That of the process that it starts.
        "src/jobs/backup-process.ts",
      ],
    ],
  ];
  const wrong: string[] = [];
  for (const folder of ["src", "routers", "db"]) {
    for await (const name of new Glob("**/*.{ts,tsx}").scan(root + folder)) {
      const file = `${folder}/${name}`;
      const text = await Bun.file(root + file).text();
      for (const [pattern, files] of OWN) {
        if (pattern.test(text) && !files.includes(file)) wrong.push(`${file}: ${pattern}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

test("only one file knows how tRPC builds a procedure", async () => {
  const wrong: string[] = [];
  for (const folder of ["src", "routers", "db", "bench", "scripts"]) {
    for await (const name of new Glob("**/*.{ts,tsx}").scan(root + folder)) {
      const file = `${folder}/${name}`;
      if (file === "src/rpc/trpc-internals.ts") continue;
      if (/\b_def\b/.test(await Bun.file(root + file).text())) wrong.push(file);
    }
  }
  expect(wrong).toEqual([]);
});

test("no source file has more than 400 lines", async () => {
  const long: string[] = [];
  let files = 0;
  for (const folder of ["src", "routers", "db", "test", "bench", "scripts"]) {
    for await (const name of new Glob("**/*.{ts,tsx,css,mjs,py,go,kt}").scan(root + folder)) {
      files++;
      const text = await Bun.file(`${root}${folder}/${name}`).text();
      const lines = text.split("\n").length - 1;
      if (lines > 400) long.push(`${folder}/${name}: ${lines}`);
    }
  }
  expect(files).toBeGreaterThan(700);
  expect(long).toEqual([]);
});
