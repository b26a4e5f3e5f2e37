/** Opens an address in the browser of this machine. */

import type { Io } from "./io.ts";

/** False when the person is not at this machine (SSH), or no program can open an address. */
export function openBrowser(platform: Io["platform"], env: Io["env"], url: string): boolean {
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  const has_screen =
    platform === "win32" || platform === "darwin" || env.DISPLAY || env.WAYLAND_DISPLAY;
  if (!has_screen) return false;
  const command =
    platform === "win32"
      ? ["rundll32", "url.dll,FileProtocolHandler", url]
      : [platform === "darwin" ? "open" : "xdg-open", url];
  try {
    Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).unref();
    return true;
  } catch {
    return false;
  }
}
