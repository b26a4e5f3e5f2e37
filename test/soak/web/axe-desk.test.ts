/** Accessibility of every view on a desk, light and dark. */

import { browserTests, DESK } from "../../web/browser.ts";
import { checkEveryView } from "../../web/every-view.ts";

const webTest = browserTests();

webTest(
  "axe finds no violations in any view, light and dark: desk",
  () => checkEveryView(DESK),
  120_000,
);
