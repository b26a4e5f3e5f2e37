/** Whether this browser can show notifications while the page is closed, and why not. */

export type PushSupport =
  /** It can. */
  | "supported"
  /** The page is not a secure context: its address is neither https nor loopback. */
  | "insecure"
  /** iPhone and iPad support it only for apps on the home screen. */
  | "home screen"
  /** The person, or a policy, has refused notifications. */
  | "blocked"
  /** The browser does not support it. */
  | "unsupported";

export function pushSupport(): PushSupport {
  if (!isSecureContext) return "insecure";
  if (!("PushManager" in globalThis) || !navigator.serviceWorker || !("Notification" in globalThis))
    return isIphoneOrIpad() && !isOnHomeScreen() ? "home screen" : "unsupported";
  return Notification.permission === "denied" ? "blocked" : "supported";
}

/** An iPad calls itself a Mac, but a Mac has no touch screen. */
function isIphoneOrIpad(): boolean {
  const { userAgent, maxTouchPoints } = navigator;
  return (
    /\b(iPhone|iPad)\b/.test(userAgent) || (/\bMac OS X\b/.test(userAgent) && maxTouchPoints > 1)
  );
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
    "Click the icon beside the address.",
    "Allow notifications, or reset that permission.",
    "Reload this page.",
  ];
}
