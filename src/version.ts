/** The version of this build, from package.json, and the oldest one that can run beside it. */

import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

/**
 * The oldest version that still works on a store once this build has migrated it. A migration that
 * an older version cannot work with moves it up; versions below it are then refused, and those that
 * run end (docs/interface.md 17.5).
 */
export const OLDEST_COMPATIBLE = "0.1.0";
