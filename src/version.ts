/** The version of this build, from package.json, and the oldest version that can run beside it. */

import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

/**
 * The oldest version that works on a store which this build has migrated. A migration that an older version cannot work
 * with raises it: versions below it then do not start, and running ones end (§17.5).
 */
export const OLDEST_COMPATIBLE = "0.3.0";
