/** What requests of channels contain, encrypted as it is stored and opened as it is sent (§11.4.11). */

import type { ChannelSecret } from "./notify/schema.ts";
import { PLACES, type Vault } from "./store/vault.ts";

/** The secret with each of its values changed by the place that it belongs to. */
export const changeSecret = (
  by: (place: string, text: string) => string,
  id: string,
  { url, secret, address }: ChannelSecret,
): ChannelSecret => ({
  url: by(PLACES.url(id), url),
  ...(secret !== undefined && { secret: by(PLACES.signing(id), secret) }),
  ...(address !== undefined && { address: by(PLACES.address(id), address) }),
});

/** The secret of the channel `id` as it is stored. */
export const sealSecret = (vault: Vault, id: string, secret: ChannelSecret): ChannelSecret =>
  changeSecret(vault.seal, id, secret);

/** The secret of the channel `id` from what is stored. Throws `SealedError`. */
export const openSecret = (vault: Vault, id: string, stored: ChannelSecret): ChannelSecret =>
  changeSecret(vault.open, id, stored);
