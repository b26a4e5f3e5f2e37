/**
 * The unit of docs/systemd: `systemd-analyze` checks it, and systemd itself runs it in namespaces of its own, with every
 * restriction, on the executable of this checkout.
 */

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../test/support/sqld.ts";
import { backupMade } from "./backup-made.ts";
import { run } from "./run.ts";

const UNIT = new URL("../../docs/systemd/relay.service", import.meta.url);
const EXECUTABLE = new URL("../../dist/relay", import.meta.url).pathname;
const SYSTEMD = "/lib/systemd/systemd";
/** `systemd-analyze security` calls 10 the worst. */
const WORST_EXPOSURE = 2;
/** Seconds in which the service must stop. */
const STOPS_WITHIN = 10;
/** Units that systemd wants at its start; these do nothing. */
const TARGETS = ["default", "sysinit", "basic", "shutdown", "umount", "network-online"];

/** Prints what was found. Returns false if the unit is wrong, or the service does not work under it. */
export async function systemdUnit(print: (line: string) => void): Promise<boolean> {
  if (!Bun.which("systemd-analyze")) {
    print("systemd unit: not tried, since systemd-analyze is not installed");
    return true;
  }
  const folder = mkdtempSync(join(tmpdir(), "relay-operate-"));
  try {
    return (await check(folder, print)) && (await serve(folder, print));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function check(folder: string, print: (line: string) => void): Promise<boolean> {
  const path = join(folder, "relay.service");
  // The executable need not be installed here.
  const text = readFileSync(UNIT, "utf8").replace("/usr/local/bin/relay", "/bin/true");
  writeFileSync(path, text);
  const { code, text: faults } = await run(["systemd-analyze", "verify", path]);
  const security = await run(["systemd-analyze", "security", "--offline=yes", "--no-pager", path]);
  const exposure = Number(/exposure level for relay.service: ([\d.]+)/.exec(security.text)?.[1]);
  print(
    `systemd unit: verify ${code === 0 ? "finds nothing" : faults}; exposure ${exposure} of 10`,
  );
  return code === 0 && exposure <= WORST_EXPOSURE;
}

/** Runs systemd as the first process of a container made by `unshare`, with no units but these. */
async function serve(folder: string, print: (line: string) => void): Promise<boolean> {
  const { exists } = Bun.file(EXECUTABLE);
  if (
    process.getuid?.() !== 0 ||
    !Bun.which("unshare") ||
    !(await exists.call(Bun.file(EXECUTABLE)))
  ) {
    print("systemd unit: not run, which needs root, `unshare`, and dist/relay of `bun run build`");
    return true;
  }
  const port = freePort();
  const units = join(folder, "units");
  mkdirSync(units);
  const token = join(folder, "admin-token");
  writeFileSync(token, "x".repeat(40));
  const unit = readFileSync(UNIT, "utf8")
    .replace("/usr/local/bin/relay", "/opt/relay")
    .replace("/etc/relay/admin-token", token)
    .replace("PORT=3000", `PORT=${port}`);
  writeFileSync(join(units, "relay.service"), unit);
  for (const name of TARGETS) {
    writeFileSync(join(units, `${name}.target`), "[Unit]\nDefaultDependencies=no\n");
  }
  const program = join(folder, "relay");
  copyFileSync(EXECUTABLE, program);
  chmodSync(program, 0o755);
  const boot = join(folder, "boot.sh");
  writeFileSync(
    boot,
    `set -e
mount --make-rshared /
mount -t proc proc /proc
for folder in /run /var/lib /var/cache /opt; do mount -t tmpfs tmpfs $folder; done
chmod 755 /opt
cp ${program} /opt/relay
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
export container=relay SYSTEMD_UNIT_PATH=${units} SYSTEMD_GENERATOR_PATH=/nonexistent
exec ${SYSTEMD} --system --unit=default.target --log-target=null --show-status=no
`,
  );
  const container = Bun.spawn(
    ["unshare", "--kill-child", "-fmpuiC", "--propagation", "private", "bash", boot],
    { stdio: ["ignore", "ignore", "ignore"] },
  );
  try {
    const first = await firstProcess(container.pid);
    if (first === null) {
      print("systemd unit: not run, since systemd did not start in namespaces here");
      return true;
    }
    const systemctl = (...words: string[]) =>
      run(["nsenter", "-t", first, "-a", "timeout", "20", "systemctl", ...words]);
    const started = await systemctl("start", "relay");
    const url = `http://127.0.0.1:${port}`;
    const backup = await backupMade(url, "x".repeat(40));
    const { text: main } = await systemctl("show", "relay", "-p", "MainPID", "--value");
    const status = await run(["nsenter", "-t", first, "-a", "cat", `/proc/${main}/status`]);
    const user = /^Uid:\t(\d+)/m.exec(status.text)?.[1];
    const since = performance.now();
    await systemctl("stop", "relay");
    const took = (performance.now() - since) / 1000;
    const { text: result } = await systemctl("show", "relay", "-p", "Result", "--value");
    const good =
      started.code === 0 && backup && user !== "0" && result === "success" && took < STOPS_WITHIN;
    print(
      `systemd unit: the service ${started.code === 0 ? "runs" : "does not start"} as user ${user}, ${backup ? "makes" : "DOES NOT MAKE"} a backup, and stops in ${took.toFixed(1)} s (${result})`,
    );
    if (!good) print((await systemctl("status", "relay", "--no-pager", "-l")).text);
    return good;
  } finally {
    container.kill("SIGKILL");
    await container.exited;
  }
}

/** The process id of systemd, the child of `unshare`; null if it does not run its targets. */
async function firstProcess(parent: number): Promise<string | null> {
  for (let tries = 0; tries < 100; tries++) {
    const { text } = await run(["pgrep", "-P", String(parent), "-x", "systemd"]);
    const state =
      text && (await run(["nsenter", "-t", text, "-a", "systemctl", "is-system-running"])).text;
    if (/^(running|degraded)/.test(state)) return text;
    await Bun.sleep(100);
  }
  return null;
}
