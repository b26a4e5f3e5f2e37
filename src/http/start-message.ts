/** The message that the process prints once it listens. */

import { renderUnicodeCompact } from "uqr";

interface StartMessage {
  readonly version: string;
  /** Base address for clients. */
  readonly url: string;
  /** Base address that the process listens on. */
  readonly local_url: string;
  /** Base addresses for other devices, best first. */
  readonly reachable: readonly string[];
  /** Why other devices cannot reach it; null if they can. */
  readonly unreachable_reason: string | null;
  /** Where this start created a store; null if it found one. */
  readonly new_store?: string | null;
  /** `ACCOUNT_CREATION`. */
  readonly account_creation: "open" | "first" | "off";
  /** The code that creates the first account; null if none is needed. */
  readonly start_code: string | null;
  /** Width of the terminal; null if the output is not a terminal. */
  readonly columns: number | null;
}

/** White modules on black, whatever the colors of the terminal. */
const [LIGHT_ON_DARK, RESET] = ["\u001b[38;5;231;48;5;16m", "\u001b[0m"];

/**
 * The message, with a final line break. The first line ends with the address. A terminal that is wide enough also
 * gets a QR code of the best address for other devices.
 */
export function startMessage(options: StartMessage): string {
  const { version, reachable, unreachable_reason, columns } = options;
  const [url, local_url] = [openable(options.url), openable(options.local_url)];
  const [best] = reachable;
  const first_view = options.start_code === null ? "" : `/#/start/${options.start_code}`;
  const here = url === local_url ? "" : ` (here at ${local_url})`;
  const lines = [`Relay ${version} is listening at ${url}${here}`];
  if (options.new_store) lines.push(`Created a new, empty store: ${options.new_store}`);
  lines.push(nextStep({ ...options, url }, `${url}${first_view}`));
  const others = reachable
    .filter((address) => address !== url)
    .map((address) => (address === best ? address + first_view : address));
  if (others.length > 0) lines.push(`From other devices: ${others.join("  ")}`);
  if (unreachable_reason !== null) lines.push(`From a phone: ${unreachable_reason}`);
  if (best !== undefined && columns !== null) lines.push(...qrLines(best + first_view, columns));
  return `${lines.join("\n")}\n`;
}

/**
 * The address that a browser on this machine can open. If Relay listens on all addresses, that is loopback: browsers
 * allow notifications over plain http only there, and clients OAuth.
 */
function openable(url: string): string {
  const address = new URL(url);
  if (!["0.0.0.0", "[::]"].includes(address.hostname)) return url;
  address.hostname = "127.0.0.1";
  return address.origin;
}

function nextStep({ url, account_creation, start_code }: StartMessage, first: string): string {
  if (start_code !== null) return `Next: create the first account at ${first}`;
  if (account_creation !== "open") return "Next: open it in a browser";
  return `Next: open it in a browser, or create an account with  curl -X POST ${url}/v1/accounts`;
}

function qrLines(text: string, columns: number): string[] {
  const lines = renderUnicodeCompact(text, { border: 2 }).split("\n");
  if (lines[0]!.length > columns) return [];
  return lines.map((line) => `${LIGHT_ON_DARK}${line}${RESET}`);
}
