/** A name for this browser, for the list of sign-ins, such as `Firefox on Linux`. */

/** The first match counts: later browsers are also named in the user agents of earlier ones. */
const BROWSERS = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
] as const;

const SYSTEMS = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMac OS X\b/, "Mac"],
  [/\bLinux\b/, "Linux"],
] as const;

/**
 * `agent`: the browser's user agent; `touches`: `maxTouchPoints`, which tells an iPad from a Mac.
 */
export function browserLabel(
  agent = navigator.userAgent,
  touches = navigator.maxTouchPoints,
): string {
  const nameIn = (names: typeof BROWSERS | typeof SYSTEMS) =>
    names.find(([pattern]) => pattern.test(agent))?.[1];
  const found = nameIn(SYSTEMS);
  const system = found === "Mac" && touches > 1 ? "iPad" : found;
  const browser = nameIn(BROWSERS) ?? "Browser";
  return system === undefined ? browser : `${browser} on ${system}`;
}
