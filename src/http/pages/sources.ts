/** The bundles that the pages are made of. `bun run build` replaces this module by the result. */

import type { Asset } from "./asset.ts";
import { assetOf, type Bundle, bundlePage, bundleScript, WEB } from "./bundle.ts";

export interface Sources {
  readonly person: Bundle;
  readonly worker: string;
  /** The icon, the maskable icon, and the icon for the home screen of iOS. */
  readonly icons: readonly Asset[];
}

/** Bundles the person's page. Takes a second. */
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

export const readAdmin = (): Promise<Bundle> => bundlePage("admin/main.tsx");
