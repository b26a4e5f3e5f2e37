/** Entry point of the admin page: the sign-in, or the dashboard for a tab that has a token. */

import { can_start } from "../start.ts";
import "../styles.css";
import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { tab } from "../state/storage.ts";
import { createAdminApi } from "./api.ts";
import { Dashboard } from "./dashboard.tsx";
import { SignIn } from "./sign-in.tsx";

/** Name in session storage, so that the token is forgotten with the tab. */
const TOKEN = "admin";

function App() {
  const [token, setToken] = useState(() => tab.get(TOKEN));
  const api = useMemo(() => (token === null ? null : createAdminApi(token)), [token]);
  const enter = (given: string) => {
    tab.set(TOKEN, given);
    setToken(given);
  };
  const leave = () => {
    tab.remove(TOKEN);
    setToken(null);
  };
  return api ? <Dashboard api={api} onLeave={leave} /> : <SignIn onEnter={enter} />;
}

if (can_start) {
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
