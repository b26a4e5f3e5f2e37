/** Sign-in state of this tab, and the view for it. */

import { useCallback, useMemo, useState } from "react";
import { createAdminApi } from "./api.ts";
import { Dashboard } from "./dashboard.tsx";
import { SignIn } from "./sign-in.tsx";

/** Key in session storage, so that the token is forgotten with the tab. */
const TOKEN = "relay.admin";

export function App() {
  const [token, setToken] = useState(() => sessionStorage.getItem(TOKEN));
  const [refused, setRefused] = useState(false);
  const api = useMemo(() => (token === null ? null : createAdminApi(token)), [token]);
  const enter = (given: string) => {
    sessionStorage.setItem(TOKEN, given);
    setRefused(false);
    setToken(given);
  };
  const leave = useCallback((because: "refused" | "asked") => {
    sessionStorage.removeItem(TOKEN);
    setRefused(because === "refused");
    setToken(null);
  }, []);
  const onRefused = useCallback(() => leave("refused"), [leave]);
  return api ? (
    <Dashboard api={api} onRefused={onRefused} onLeave={() => leave("asked")} />
  ) : (
    <SignIn refused={refused} onEnter={enter} />
  );
}
