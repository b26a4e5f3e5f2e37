/** Entry point of the person's page. */

import "../styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { resume } from "../state/session.ts";
import { watchStartLinks } from "../state/start-code.ts";
import { App } from "./app.tsx";

watchStartLinks();
resume();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
