/**
 * The Dockerfile: docker or podman builds the image and runs it with the restrictions of docs/compose. Where the base image
 * cannot be had, mmdebstrap makes a stand-in for it.
 */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Place } from "../../bench/place.ts";
import { freePort } from "../../test/support/sqld.ts";
import { backupMade } from "./backup-made.ts";
import { run } from "./run.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const BASE = "docker.io/library/debian:13-slim";
const STAND_IN = "localhost/relay-operate-base";
const NAME = "relay-operate";
const TOKEN = "x".repeat(40);
/** Seconds in which the container must stop. */
const STOPS_WITHIN = 10;
/** Gives podman cgroups of version 2, which crun needs, where the machine has both versions. */
const UNIFIED = 'umount -l /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup; exec "$@"';

interface Engine {
  readonly name: string;
  /** Runs a command of it. */
  call(...words: string[]): ReturnType<typeof run>;
  /** Further options of `build`, and of `run`. */
  readonly build: readonly string[];
  readonly run: readonly string[];
}

async function findEngine(): Promise<Engine | null> {
  const docker = (...words: string[]) => run(["timeout", "300", "docker", ...words]);
  if (Bun.which("docker") && (await docker("version")).code === 0) {
    return { name: "docker", call: docker, build: [], run: [] };
  }
  if (!Bun.which("podman")) return null;
  const unified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const prefix = unified
    ? []
    : ["unshare", "-m", "--propagation", "private", "sh", "-c", UNIFIED, "sh"];
  return {
    name: "podman",
    call: (...words) => run(["timeout", "300", ...prefix, "podman", ...words]),
    // Its own format of images has no health check.
    build: ["--format", "docker", ...(unified ? [] : ["--isolation", "chroot"])],
    // Limits that this process may set; systemd, which may be missing, would run the health check.
    run: [
      ...["--no-healthcheck", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1000:1000"],
      ...["--log-driver", "k8s-file", "--read-only-tmpfs=false"],
      ...(unified ? [] : ["--cgroups=disabled"]),
    ],
  };
}

/** Options of `build` for the base image; null if there is none. */
async function baseOf(engine: Engine, folder: string): Promise<readonly string[] | null> {
  const known = async (image: string) => (await engine.call("image", "inspect", image)).code === 0;
  if ((await known(BASE)) || (await engine.call("pull", BASE)).code === 0) return [];
  if (engine.name !== "podman") return null;
  if (!(await known(STAND_IN))) {
    if (!Bun.which("mmdebstrap")) return null;
    const tar = join(folder, "base.tar");
    const make = ["mmdebstrap", "--variant=essential", "--include=passwd", "trixie", tar];
    const made = await run(["timeout", "300", ...make]);
    if (made.code !== 0 || (await engine.call("import", tar, STAND_IN)).code !== 0) return null;
  }
  return ["--from", STAND_IN];
}

/** Prints what was found. Returns false if the image cannot be built, or does not serve. */
export async function container(print: (line: string) => void, place: Place): Promise<boolean> {
  const engine = await findEngine();
  if (!engine || !existsSync(join(ROOT, "dist/relay"))) {
    print(
      "container: not tried, which needs a Docker daemon or podman, and dist/relay of `bun run build`",
    );
    return true;
  }
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  const remove = async () => {
    await engine.call("rm", "-f", "-v", NAME);
    await engine.call("volume", "rm", "-f", `${NAME}-data`, `${NAME}-backups`);
    await engine.call("rmi", "-f", NAME);
  };
  // An interrupted run does not come to the end of this.
  place.first.push(remove);
  try {
    const base = await baseOf(engine, folder);
    if (!base) {
      print(`container: not tried, since ${BASE} cannot be had, and neither can a stand-in`);
      return true;
    }
    const built = await engine.call("build", ...engine.build, ...base, "-t", NAME, ROOT);
    if (built.code !== 0) {
      print(`container: NOT BUILT: ${built.text.slice(-1_000)}`);
      return false;
    }
    return await serve(engine, folder, print, base.length > 0);
  } finally {
    place.first.splice(place.first.indexOf(remove), 1);
    await remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serve(
  engine: Engine,
  folder: string,
  print: (line: string) => void,
  stands_in: boolean,
): Promise<boolean> {
  const port = freePort();
  const token = join(folder, "admin-token");
  writeFileSync(token, TOKEN, { mode: 0o444 });
  const started = await engine.call(
    ...["run", "-d", "--name", NAME, ...engine.run, "--network", "host"],
    ...["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"],
    ...["-v", `${NAME}-data:/data`, "-v", `${NAME}-backups:/backups`],
    ...["-v", `${token}:/run/secrets/admin_token:ro`],
    ...["-e", "ADMIN_TOKEN_FILE=/run/secrets/admin_token", "-e", "BACKUP_DIR=/backups"],
    ...["-e", `PORT=${port}`, "-e", "HOST=127.0.0.1", NAME],
  );
  if (started.code !== 0) {
    print(`container: DOES NOT START: ${started.text}`);
    return false;
  }
  const backup = await backupMade(`http://127.0.0.1:${port}`, TOKEN);
  const healthy = (await engine.call("exec", NAME, "relay", "health")).code === 0;
  const { text: user } = await engine.call("exec", NAME, "id", "-u");
  const since = performance.now();
  await engine.call("stop", "-t", "30", NAME);
  const took = (performance.now() - since) / 1000;
  const { text: code } = await engine.call("inspect", NAME, "--format", "{{.State.ExitCode}}");
  const good = backup && healthy && user === "10001" && code === "0" && took < STOPS_WITHIN;
  print(
    `container: ${engine.name} builds the image${stands_in ? " on a base made by mmdebstrap, since the real one cannot be had" : ""}; with a read-only root and no capabilities the service runs as user ${user}, ${backup ? "makes" : "DOES NOT MAKE"} a backup, ${healthy ? "is healthy" : "IS NOT HEALTHY"}, and stops in ${took.toFixed(1)} s with code ${code}. Networks of containers were not tried`,
  );
  if (!good) print((await engine.call("logs", NAME)).text);
  return good;
}
