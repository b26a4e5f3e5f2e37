/** Whether this browser can show notifications while the page is closed, and why not. */

export type PushSupport =
  /** It can. */
  | "supported"
  /** The page is not a secure context: its address is neither https nor loopback. */
  | "insecure"
  /** iPhone and iPad support it only for apps on the home screen. */
  | "home screen"
  /** iPhone and iPad before iOS 16.4 do not support it at all. */
  | "outdated"
  /** The person, or a policy, has refused notifications. */
  | "blocked"
  /** The browser does not support it. */
  | "unsupported";

export function pushSupport(): PushSupport {
  if (!isSecureContext) return "insecure";
  if (
    !("PushManager" in globalThis) ||
    !navigator.serviceWorker ||
    !("Notification" in globalThis)
  ) {
    if (!isIphoneOrIpad()) return "unsupported";
    if (isBefore16_4()) return "outdated";
    return isOnHomeScreen() ? "unsupported" : "home screen";
  }
  return Notification.permission === "denied" ? "blocked" : "supported";
}

/** An iPad calls itself a Mac, but a Mac has no touch screen. */
function isIphoneOrIpad(): boolean {
  const { userAgent, maxTouchPoints } = navigator;
  return (
    /\b(iPhone|iPad)\b/.test(userAgent) || (/\bMac OS X\b/.test(userAgent) && maxTouchPoints > 1)
  );
}

/** By the version of iOS or, on an iPad that calls itself a Mac, of Safari, which is the same. */
function isBefore16_4(): boolean {
  const found = /\bOS (\d+)_(\d+)|\bVersion\/(\d+)\.(\d+)/.exec(navigator.userAgent);
  const [major = 0, minor = 0] = (found ?? []).slice(1).filter(Boolean).map(Number);
  return found !== null && (major < 16 || (major === 16 && minor < 4));
}

const isOnHomeScreen = (): boolean =>
  (navigator as { standalone?: boolean }).standalone === true ||
  matchMedia("(display-mode: standalone)").matches;

/** How to allow notifications that were refused, step by step. */
export function howToAllow(): readonly string[] {
  const { userAgent } = navigator;
  if (isIphoneOrIpad()) {
    return ["Open Settings, then Apps, then Relay.", "Choose Notifications, and allow them."];
  }
  if (/\bAndroid\b/.test(userAgent)) {
    return [
      "Tap the icon beside the address, then Permissions.",
      "Allow notifications.",
      "Reload this page.",
    ];
  }
  if (/\bVersion\/.*\bSafari\//.test(userAgent)) {
    return [
      "Open Safari's Settings, then Websites, then Notifications.",
      "Allow them for this address.",
      "Reload this page.",
    ];
  }
  return [
    `${matchMedia("(pointer: coarse)").matches ? "Tap" : "Click"} the icon beside the address.`,
    "Allow notifications, or reset that permission.",
    "Reload this page.",
  ];
}
