/** Entry point of the person's page. */

import "../styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { watchPairingLinks } from "../state/pairing.ts";
import { resume } from "../state/session.ts";
import { watchStartLinks } from "../state/start-code.ts";
import { App } from "./app.tsx";

watchStartLinks();
watchPairingLinks();
resume();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
