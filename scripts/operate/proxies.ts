/** The reverse proxies of docs/operating/proxies.md as processes, each with the recipe that the document prints. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isUp } from "../../bench/process.ts";
import { untilTrue } from "../../bench/within.ts";
import { blocksOf } from "./document.ts";

/** Seconds in which a proxy must answer. */
const START = 30;
/** The addresses of the two processes in each recipe. */
const UPSTREAMS = ["127.0.0.1:3000", "127.0.0.1:3001"] as const;

export const PROXIES = ["nginx", "caddy", "haproxy"] as const;
export type ProxyName = (typeof PROXIES)[number];

interface Setup {
  /** The port that it listens on, and those of the two processes. */
  readonly port: number;
  readonly upstreams: readonly [number, number];
  /** For its files. */
  readonly folder: string;
}

/** The code block of the recipe, with the real ports. */
function recipeOf(name: ProxyName, { upstreams }: Setup): string {
  const [found = ""] = blocksOf("proxies", "Rolling restarts", name);
  return UPSTREAMS.reduce(
    (recipe, address, i) => recipe.replaceAll(address, `127.0.0.1:${upstreams[i]}`),
    found,
  );
}

/** What surrounds the recipe, and the command that runs it in the foreground. */
const SURROUNDINGS: Record<
  ProxyName,
  (setup: Setup, recipe: string, path: string) => { config: string; command: string[] }
> = {
  nginx: ({ port, folder }, recipe, path) => ({
    config: `daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${recipe.replace("listen 443 ssl http2;", `listen 127.0.0.1:${port};`).replace(/.*ssl_certificate.*\n/g, "")}
}
`,
    command: ["nginx", "-c", path],
  }),
  caddy: ({ port }, recipe, path) => ({
    config: `{
	admin off
	auto_https off
}
${recipe.replace("relay.example {", `http://127.0.0.1:${port} {`)}`,
    command: ["caddy", "run", "--adapter", "caddyfile", "--config", path],
  }),
  haproxy: ({ port }, recipe, path) => ({
    config: recipe.replace(/bind .*/, `bind 127.0.0.1:${port}`),
    command: ["haproxy", "-db", "-f", path],
  }),
};

/** Starts the proxy and waits until it answers; null if it is not installed. */
export async function startProxy(
  name: ProxyName,
  setup: Setup,
  children: Bun.Subprocess[],
): Promise<string | null> {
  if (!Bun.which(name)) return null;
  mkdirSync(setup.folder, { recursive: true });
  const path = join(setup.folder, `${name}.conf`);
  const { config, command } = SURROUNDINGS[name](setup, recipeOf(name, setup), path);
  writeFileSync(path, config);
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH ?? "", HOME: setup.folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  const url = `http://127.0.0.1:${setup.port}`;
  await untilTrue(START, `an answer by ${name}`, async () => {
    if (child.exitCode !== null) {
      throw new Error(`${name} ended: ${await new Response(child.stderr).text()}`);
    }
    return isUp(`${url}/health`);
  });
  return url;
}
