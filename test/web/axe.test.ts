/** Accessibility of every view on a phone, light and dark; `test/soak/web/axe-desk.test.ts` has the desk. */

import { browserTests, PHONE } from "./browser.ts";
import { checkEveryView } from "./every-view.ts";

const webTest = browserTests();

webTest(
  "axe finds no violations in any view, light and dark: phone",
  () => checkEveryView(PHONE),
  300_000,
);
