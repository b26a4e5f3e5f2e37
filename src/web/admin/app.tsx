/** Sign-in state of this tab, and the view for it. */

import { useMemo, useState } from "react";
import { tab } from "../state/storage.ts";
import { createAdminApi } from "./api.ts";
import { Dashboard } from "./dashboard.tsx";
import { SignIn } from "./sign-in.tsx";

/** Name in session storage, so that the token is forgotten with the tab. */
const TOKEN = "admin";

export function App() {
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
