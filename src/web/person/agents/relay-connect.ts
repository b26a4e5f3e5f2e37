/** How `relay connect` is run: by the program that this server has for other machines, or from its own folder. */

import { isLoopback } from "./base-address.ts";
import type { SetUp, Step } from "./set-up.ts";

/** The platform of the program that the server hands out, such as `linux-x64`; null if it has none. */
const ownPlatform = (): string | null =>
  document.querySelector<HTMLMetaElement>('meta[name="relay-program"]')?.content ?? null;

/** Names of systems in a platform. */
const SYSTEMS: Readonly<Record<string, string>> = {
  linux: "Linux",
  macos: "macOS",
  windows: "Windows",
};

const THEN = "It shows each change and asks first:";

/** Where `relay` is found, and the command that connects a client with its permission prompts. */
export function relayConnect(
  client: NonNullable<SetUp["relay_name"]>,
  base: string,
  platform = ownPlatform(),
): Required<Step> {
  const command = `connect ${client} --approve --url ${base}`;
  const is_here = isLoopback(new URL(base).hostname);
  if (is_here && platform === null) {
    return {
      text: `Or run this in Relay's folder. ${THEN}`,
      code: `npx -y bun@1.4.5 relay ${command}`,
    };
  }
  if (is_here || platform === null) {
    return { text: `Or run this where relay is installed. ${THEN}`, code: `relay ${command}` };
  }
  const [system = "", processor = ""] = platform.split("-");
  const file = `relay-${platform}${system === "windows" ? ".exe" : ""}`;
  const check = system === "macos" ? "shasum -a 256 -c" : "sha256sum -c";
  return {
    text: `Or get relay from this server, for ${SYSTEMS[system] ?? system} on ${processor}. ${THEN}`,
    code: [
      `curl -fO ${base}/downloads/${file}`,
      `curl -f ${base}/downloads/${file}.sha256 | ${check}`,
      `chmod +x ${file}`,
      `./${file} ${command}`,
    ].join("\n"),
  };
}
