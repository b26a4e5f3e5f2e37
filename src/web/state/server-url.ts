/** What the page knows of its server: URLs, and whether it can notify devices. */

/** Resolves a path of this server: the page may be served below a path. */
export const serverUrl = (path: string): string => new URL(path, document.baseURI).href;

/** True if the server can notify devices, which an app registers (§14). */
export const notifiesDevices = (): boolean =>
  document.querySelector('meta[name="relay-devices"]') !== null;
