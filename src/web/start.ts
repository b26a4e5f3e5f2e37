/**
 * Says why a page did not start, in place of what its document shows until then. The entry points import this
 * before all else, and it imports nothing, so that it also sees faults of modules that are being loaded.
 */

/** True if the browser lets the page keep data; where the person blocks site data, each access throws. */
function canKeepData(): boolean {
  try {
    for (const storage of [localStorage, sessionStorage]) storage.getItem("");
    return true;
  } catch {
    return false;
  }
}

/** Replaces what the document shows until the page starts. */
function explain(title: string, text: string): void {
  if (!document.querySelector("#root > p")) return;
  const around = document.createElement("main");
  around.className = "mx-auto max-w-md px-5 py-14";
  const heading = document.createElement("h1");
  heading.className = "font-semibold text-2xl leading-tight tracking-tight";
  heading.textContent = title;
  const reason = document.createElement("p");
  reason.className = "mt-2 text-soft";
  reason.textContent = text;
  around.append(heading, reason);
  document.querySelector("#root")?.replaceChildren(around);
}

/** False: nobody could be signed in here, and the document says so. */
export const can_start = canKeepData();

if (can_start) {
  window.addEventListener("error", () =>
    explain("Relay couldn't start", "Reload the page. If that doesn't help, update this browser."),
  );
} else {
  explain(
    "This browser blocks site data",
    `Relay keeps your sign-in in the browser. Allow cookies and site data for ${location.host} in the browser's settings, then reload the page.`,
  );
}
