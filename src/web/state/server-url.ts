/** URLs of this server. */

/** Resolves a path of this server: the page may be served below a path. */
export const serverUrl = (path: string): string => new URL(path, document.baseURI).href;
