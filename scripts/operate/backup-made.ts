/** Waits for the automatic backup of a new store. */

/** Seconds that it may take. */
const WITHIN = 40;

/** Asks the server at `url` with its admin token. False if there is none in time. */
export async function backupMade(url: string, token: string): Promise<boolean> {
  for (let tries = 0; tries < WITHIN * 5; tries++) {
    const answer = await fetch(`${url}/admin/health`, {
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => null);
    const text = answer?.ok ? await answer.text() : "";
    if (text.includes("The last backup is good")) return true;
    await Bun.sleep(200);
  }
  return false;
}
