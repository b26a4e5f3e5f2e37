/**
 * The recipes of docs/operating/proxies.md for one process behind Caddy and nginx, under a path, and behind a sign-in at the
 * proxy: each proxy runs with the block that the document prints, a certificate made on the spot, and a stand-in for
 * oauth2-proxy.
 */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopAll } from "../../bench/process.ts";
import { freePort } from "../../test/support/sqld.ts";
import { type Certificate, makeCertificate } from "./certificate.ts";
import { blocksOf } from "./document.ts";
import { bearer, checkFront, curl, type Front, untilFrontAnswers } from "./front-checks.ts";
import { relayBehind } from "./relay.ts";
import { run } from "./run.ts";

const HOST = "relay.example";
const COOKIE = "_oauth2_proxy=good";
/** The port of the stand-in for oauth2-proxy in the document. */
const GATE = "127.0.0.1:4180";
const SIGN_IN = "A sign-in at the proxy";

interface Recipe {
  readonly name: string;
  readonly program: "caddy" | "nginx";
  readonly block: string;
  /** Its base URL below the origin. */
  readonly path: string;
  readonly signs_in: boolean;
}

const recipes = (): Recipe[] => {
  const of = (title: string, i = 0) => blocksOf("proxies", title)[i] ?? "";
  const plain = { path: "", signs_in: false };
  return [
    { name: "Caddy", program: "caddy", block: of("Caddy"), ...plain },
    { name: "nginx", program: "nginx", block: of("nginx"), ...plain },
    {
      ...{ name: "Caddy, under a path", program: "caddy", path: "/relay", signs_in: false },
      block: of("Under a path").replace("example.com", HOST),
    },
    {
      ...{ name: "nginx, under a path", program: "nginx", path: "/relay", signs_in: false },
      block: underPath(of("nginx"), of("Under a path", 1)),
    },
    {
      ...{ name: "Caddy, with a sign-in", program: "caddy", path: "", signs_in: true },
      block: of(SIGN_IN),
    },
    {
      ...{ name: "nginx, with a sign-in", program: "nginx", path: "", signs_in: true },
      block: of(SIGN_IN, 1),
    },
  ];
};

/** The locations in place of `location /`, each with its `proxy_` lines. */
function underPath(server: string, locations: string): string {
  const [, lines = ""] = /location \/ \{\n\s+proxy_pass .*\n([\s\S]*?)\n {4}\}/.exec(server) ?? [];
  const filled = locations.replace(/(proxy_pass \S+;) \}/g, `$1\n${lines}\n}`);
  return server.replace(/ {4}location \/ \{[\s\S]*?\n {4}\}\n/, () => filled);
}

/** The configuration of the whole proxy, and the command that runs it in the foreground. */
function setUp(
  { program, block }: Recipe,
  port: number,
  { cert, key }: Certificate,
  folder: string,
): readonly [config: string, command: (path: string) => string[]] {
  if (program === "caddy") {
    const site = block.replace(`${HOST} {`, `${HOST}:${port} {\n\ttls ${cert} ${key}`);
    const config = `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`;
    return [config, (path) => ["caddy", "run", "--adapter", "caddyfile", "--config", path]];
  }
  const server = block
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replace("listen 80;", `listen 127.0.0.1:${freePort()};`)
    .replace(/ssl_certificate .*/, `ssl_certificate ${cert};`)
    .replace(/ssl_certificate_key .*/, `ssl_certificate_key ${key};`);
  const config = `daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path ${folder}/${one};`).join("\n  ")}
${server}
}
`;
  return [config, (path) => ["nginx", "-c", path]];
}

/** What `/oauth2/` of oauth2-proxy answers, with one cookie that is signed in. */
const startGate = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const signed_in = request.headers.get("cookie")?.includes(COOKIE);
      if (new URL(request.url).pathname === "/oauth2/auth") {
        return new Response(null, { status: signed_in ? 202 : 401 });
      }
      return new Response("Sign in", { headers: { "content-type": "text/html" } });
    },
  });

async function checkSignIn(front: Front, token: string, key: string): Promise<string[]> {
  const cookie = front.page ?? [];
  const page = await curl(front, "/");
  const wrong = await curl(front, "/v1/tasks", ...bearer("mck_wrong"));
  const asked = await curl(front, "/trpc/tasks.list", ...bearer(token));
  const signed_in = await curl(front, "/trpc/tasks.list", ...bearer(token), ...cookie);
  const results: [what: string, good: boolean][] = [
    ["the page asks for a sign-in", page.status === 302 && page.head.includes("/oauth2/sign_in")],
    ["the sign-in has a page", (await curl(front, "/oauth2/sign_in")).body.includes("Sign in")],
    ["agents need none", (await curl(front, "/v1/tasks", ...bearer(key))).status === 200],
    ["Relay refuses a wrong key", wrong.status === 401 && wrong.body.includes('"code"')],
    ["the page's requests need one", !asked.body.includes('"result"')],
    ["the page's token passes", signed_in.status === 200 && signed_in.body.includes('"result"')],
  ];
  return results.filter(([, good]) => !good).map(([what]) => what);
}

/** Why basic authentication does not work: null if it fails as the document says. */
async function basicAuthentication(front: Front, token: string): Promise<string | null> {
  const page = await curl(front, "/", "-u", "anna:secret");
  const own = await curl(front, "/trpc/tasks.list", ...bearer(token));
  if (page.status === 200 && own.status === 401 && /www-authenticate: basic/i.test(own.head)) {
    return null;
  }
  return `the page ${page.status}, its requests ${own.status}`;
}

async function tryRecipe(recipe: Recipe, print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const children: Bun.Subprocess[] = [];
  const gate = startGate();
  try {
    const certificate = await makeCertificate(folder, HOST);
    if (!certificate || !Bun.which("curl") || !Bun.which(recipe.program)) {
      print(`${recipe.name}: not tried, since ${recipe.program}, openssl or curl is not installed`);
      return true;
    }
    const port = freePort();
    const front: Front = {
      url: `https://${HOST}:${port}${recipe.path}`,
      ca: certificate.ca,
      ...(recipe.signs_in && { page: ["-H", `Cookie: ${COOKIE}`] }),
    };
    const relay = await relayBehind(front.url, folder, children);
    const start = async (block: string) => {
      const real = block
        .replaceAll("127.0.0.1:3000", `127.0.0.1:${relay}`)
        .replaceAll(GATE, `127.0.0.1:${gate.port}`);
      const [config, command] = setUp({ ...recipe, block: real }, port, certificate, folder);
      const path = join(folder, "proxy.conf");
      writeFileSync(path, config);
      const child = Bun.spawn(command(path), {
        env: { PATH: process.env.PATH ?? "", HOME: folder },
        stdio: ["ignore", "ignore", "pipe"],
      });
      children.push(child);
      return child;
    };
    const proxy = await start(recipe.block);
    await untilFrontAnswers(front, proxy);
    const { faults, token, key } = await checkFront(front);
    const all = [...faults];
    if (recipe.signs_in) all.push(...(await checkSignIn(front, token, key)));
    if (recipe.name === "nginx, with a sign-in") {
      proxy.kill();
      await proxy.exited;
      const { text: password } = await run(["openssl", "passwd", "-apr1", "secret"]);
      writeFileSync(join(folder, "htpasswd"), `anna:${password}\n`, { mode: 0o644 });
      // nginx reads it as another user.
      chmodSync(folder, 0o711);
      const settings = `auth_basic "Relay"; auth_basic_user_file ${folder}/htpasswd;`;
      const [block = ""] = blocksOf("proxies", "nginx");
      await start(
        block.replace(
          "location / {",
          `location = /health { proxy_pass http://127.0.0.1:3000; }\nlocation / {\n${settings}`,
        ),
      );
      await untilFrontAnswers(front);
      const other = await basicAuthentication(front, token);
      print(
        `nginx, basic authentication: ${other ? `NOT AS DOCUMENTED: ${other}` : "cannot be combined with Relay's tokens, as documented"}`,
      );
      if (other) all.push(other);
    }
    const held =
      "the page, limits by client, changes from its own address only, events at once, MCP metadata";
    print(
      `${recipe.name}: ${all.length === 0 ? `${held}${recipe.signs_in ? ", the sign-in for people and not for agents" : ""}` : `FAILED: ${all.join("; ")}`}`,
    );
    return all.length === 0;
  } finally {
    gate.stop(true);
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tries each recipe. Returns false if one of them fails. */
export async function fronts(print: (line: string) => void): Promise<boolean> {
  let good = true;
  for (const recipe of recipes()) good = (await tryRecipe(recipe, print)) && good;
  return good;
}
