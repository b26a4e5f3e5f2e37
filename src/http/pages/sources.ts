/** What the pages are made of. `bun run build` puts the result in the place of this module. */

import type { Asset } from "./asset.ts";
import { assetOf, type Bundle, bundlePage, bundleScript, WEB } from "./bundle.ts";

/** What is the same for every server of this version. */
export interface Sources {
  readonly person: Bundle;
  readonly worker: string;
  /** The icon, the maskable one, and the one for the home screen of iOS. */
  readonly icons: readonly Asset[];
}

/** Bundles the page of the person. Takes a second. */
export async function readSources(): Promise<Sources> {
  const [person, worker, ...icons] = await Promise.all([
    bundlePage("person/main.tsx"),
    bundleScript("worker/main.ts"),
    assetOf(`${WEB}icon.svg`, "image/svg+xml"),
    assetOf(`${WEB}icon-maskable.svg`, "image/svg+xml"),
    assetOf(`${WEB}icon-touch.png`, "image/png"),
  ]);
  return { person, worker, icons };
}

/** Bundles the page of the admin. */
export const readAdmin = (): Promise<Bundle> => bundlePage("admin/main.tsx");
