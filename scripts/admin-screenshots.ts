/**
 * Screenshots of the admin page for the documents, part of `bun run screenshots`. It runs as a test, since test
 * helpers simulate its three hours of traffic.
 */

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createAdminPage, develop, people, signIn, untilLive } from "../test/web/admin-page.ts";
import { browserTests, DESK, PHONE } from "../test/web/browser.ts";
import { untilSettled } from "../test/web/page-checks.ts";

const FOLDER = fileURLToPath(new URL("../docs/screenshots/", import.meta.url));

/** View, region at the top, colour scheme. */
const PICTURES = [
  ["admin", null, "light"],
  ["admin", null, "dark"],
  ["admin-store", "Store", "light"],
  ["admin-jobs", "Jobs", "light"],
] as const;

const webTest = browserTests();
const { openAdmin } = await createAdminPage();

for (const [name, size] of Object.entries({ phone: PHONE, desk: DESK })) {
  for (const [view, region, scheme] of PICTURES) {
    webTest(`${view}-${name}-${scheme}`, async () => {
      const page = await openAdmin({ size, scheme });
      await signIn(page);
      await untilLive(page);
      await people(page).first().waitFor();
      if (region !== null) {
        await develop(page);
        await page.getByRole("region", { name: region, exact: true }).waitFor();
      }
      await untilSettled(page);
      if (region !== null) {
        const top = page.getByRole("region", { name: region, exact: true });
        await top.evaluate((one) => scrollBy(0, one.getBoundingClientRect().top - 20));
      }
      await page.evaluate(() => document.fonts.ready.then(() => null));
      await mkdir(FOLDER, { recursive: true });
      await page.screenshot({ path: `${FOLDER}${view}-${name}-${scheme}.png` });
    });
  }
}
