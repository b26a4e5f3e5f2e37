/** Waits for the automatic backup of a new store. */

/** Seconds that it may take, and an answer. */
const WITHIN = 40;
const ANSWER = 5;

/** Asks the server at `url` with its admin token. False if there is none in time. */
export async function backupMade(url: string, token: string): Promise<boolean> {
  for (const end = performance.now() + WITHIN * 1000; performance.now() < end; ) {
    const answer = await fetch(`${url}/admin/health`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWER * 1000),
    }).catch(() => null);
    const text = answer?.ok ? await answer.text() : "";
    if (text.includes("The last backup is good")) return true;
    await Bun.sleep(200);
  }
  return false;
}
