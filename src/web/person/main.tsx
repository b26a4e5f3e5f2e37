/** Entry point of the person's page. */

import "../styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { recoverAccount } from "../state/new-account.ts";
import { watchPairingLinks } from "../state/pairing.ts";
import { resume } from "../state/session.ts";
import { startCode } from "../state/start-code.ts";
import { App } from "./app.tsx";

startCode.watch();
watchPairingLinks();
resume();
// Without the server there is nothing to recover yet.
void recoverAccount().catch(() => null);
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
