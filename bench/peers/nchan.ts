/** nginx with nchan for `bench:peers`: channels that subscribers read as event streams or by long polling. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../test/support/sqld.ts";
import { within } from "../within.ts";

const NGINX = Bun.which("nginx");
/** Seconds for its end, and milliseconds for an answer. */
const STOP = 10;
const ANSWER = 2_000;
/** Where Debian's package installs the module. */
const MODULE = "/usr/lib/nginx/modules/ngx_nchan_module.so";

/** Why nchan cannot be measured, or undefined if it can. */
export function missingNchan(): string | undefined {
  if (!NGINX) return "nginx is not on the PATH";
  return existsSync(MODULE) ? undefined : "libnginx-mod-nchan is not installed";
}

/** One worker, as Relay is one process; root may not hand the temporary folder to another user. */
const configOf = (port: number) => `
load_module ${MODULE};
${process.getuid?.() === 0 ? "user root;" : ""}
worker_processes 1;
worker_rlimit_nofile 20000;
daemon off;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_requests 100000000;
  keepalive_timeout 1h;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location = /publish { nchan_publisher http; nchan_channel_id $arg_id; nchan_message_timeout 5s; }
    location = /wait { nchan_subscriber longpoll; nchan_channel_id $arg_id; }
    location = /events { nchan_subscriber eventsource; nchan_channel_id $arg_id; }
  }
}
`;

export interface Nchan {
  readonly port: number;
  /** The worker, which holds the connections. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts it in `folder`. Call `stop`: the worker outlives a master that is killed. */
export async function startNchan(folder: string): Promise<Nchan> {
  mkdirSync(folder, { recursive: true });
  const port = freePort();
  const config = join(folder, "nginx.conf");
  writeFileSync(config, configOf(port));
  const master = Bun.spawn([NGINX!, "-p", folder, "-c", config, "-e", join(folder, "error.log")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const end = () => master.kill("SIGTERM");
  process.on("exit", end);
  const stop = async () => {
    process.off("exit", end);
    end();
    await within(STOP, "the end of nginx", master.exited).finally(() => master.kill("SIGKILL"));
  };
  for (let tries = 0; tries < 500 && master.exitCode === null; tries++) {
    const url = `http://127.0.0.1:${port}/publish?id=start`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER) }).catch(() => null);
    if (answer) return { port, pid: workerOf(master.pid), stop };
    await Bun.sleep(10);
  }
  await stop();
  throw new Error("nginx did not start");
}

function workerOf(master: number): number {
  const [worker] = readFileSync(`/proc/${master}/task/${master}/children`, "latin1").split(" ");
  if (!worker) throw new Error("nginx has no worker");
  return Number(worker);
}

/** Versions of nginx and, where Debian's packages are, of the module. */
export function nchanVersions(): Record<string, string> {
  const nginx = Bun.spawnSync([NGINX!, "-v"]).stderr.toString();
  const query = ["dpkg-query", "-W", "libnginx-mod-nchan"];
  const found = Bun.which("dpkg-query") ? Bun.spawnSync(query).stdout.toString() : "";
  return { nginx: nginx.trim().replace(/^.*\//, ""), nchan: found.split(/\s/)[1] || "unknown" };
}
