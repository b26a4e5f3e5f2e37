/** Whether the person has a recovery code that was saved. */

import { isUnsaved } from "../../../state/recovery.ts";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { useSession } from "../../use-store.ts";

/**
 * When the code was made that the person has saved, in epoch seconds; null without one; undefined before that is known.
 * Reads whenever `when` changes, except while it is null.
 */
export function useSavedCode(when: number | string | null) {
  const { api } = useSession();
  const { value, fault } = useLoaded(when, async () => {
    const { created_at } = await api.recovery.get.query({});
    return { at: isUnsaved(created_at) ? null : created_at };
  });
  return { at: value?.at, fault };
}
