/** Entry point of the person's page. */

import "../styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { resume } from "../state/session.ts";
import { App } from "./app.tsx";

resume();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
