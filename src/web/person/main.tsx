/** Entry point of the person's page. */

import { can_start } from "../start.ts";
import "../styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { recoverAccount } from "../state/new-account.ts";
import { watchPairingLinks } from "../state/pairing.ts";
import { resumeRecovery } from "../state/recovery.ts";
import { resume } from "../state/session.ts";
import { inviteCode, startCode } from "../state/start-code.ts";
import { App } from "./app.tsx";

if (can_start) {
  startCode.watch();
  inviteCode.watch();
  watchPairingLinks();
  resume();
  // While the server cannot be reached, nothing can be recovered yet.
  void recoverAccount().catch(() => null);
  void resumeRecovery().catch(() => null);
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
