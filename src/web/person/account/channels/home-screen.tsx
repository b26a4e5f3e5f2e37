/** How to put the page on the home screen of an iPhone or iPad, with a picture of each tap. */

import type { ReactNode } from "react";

export function HomeScreen() {
  return (
    <>
      <p>
        iPhone and iPad show notifications only for apps on the home screen. Add Relay to it in two
        taps:
      </p>
      <ol className="my-3 grid gap-3 sm:grid-cols-2">
        <Step picture={<ShareTap />}>
          <strong className="font-semibold">1.</strong> Tap Share in the browser's toolbar.
        </Step>
        <Step picture={<AddTap />}>
          <strong className="font-semibold">2.</strong> Choose Add to Home Screen.
        </Step>
      </ol>
      <p>
        Then open Relay from the home screen and come back to this view. It needs its own sign-in:
        choose Add a device below for a code.
      </p>
    </>
  );
}

function Step({ picture, children }: { picture: ReactNode; children: ReactNode }) {
  return (
    <li className="rounded-xl border border-line p-3">
      {picture}
      <p className="mt-2">{children}</p>
    </li>
  );
}

const PICTURE = "h-20 w-full text-faint";

/** Picture: the bar of icons at the bottom of a phone, with Share marked. */
function ShareTap() {
  return (
    <svg aria-hidden viewBox="0 0 200 80" className={PICTURE} fill="none" stroke="currentColor">
      <path d="M20 0v52a20 20 0 0 0 20 20h120a20 20 0 0 0 20-20V0" strokeWidth="2" />
      <path d="M20 26h160" strokeWidth="1.5" />
      <g strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
        <path d="m42 40-6 7 6 7M64 40l6 7-6 7M130 40h14v14h-14zM158 41h12M158 47h12M158 53h12" />
      </g>
      <g className="text-accent" stroke="currentColor">
        <circle cx="100" cy="47" r="17" className="fill-accent-soft" strokeWidth="2" />
        <g strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
          <path d="M95 45h-3v11h16V45h-3M100 51V37M96 41l4-4 4 4" />
        </g>
      </g>
    </svg>
  );
}

/** Picture: a menu with its entry Add to Home Screen marked. */
function AddTap() {
  return (
    <svg aria-hidden viewBox="0 0 200 80" className={PICTURE} fill="none" stroke="currentColor">
      <rect x="20" y="2" width="160" height="76" rx="12" strokeWidth="2" />
      <g strokeWidth="2" strokeLinecap="round">
        <path d="M36 15h70M36 65h56" />
        <path d="M156 12h8v6h-8zM156 62h8v6h-8z" />
      </g>
      <g className="text-accent" stroke="currentColor">
        <rect
          x="26"
          y="26"
          width="148"
          height="28"
          rx="8"
          className="fill-accent-soft"
          strokeWidth="2"
        />
        <g strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
          <path d="M36 40h84" />
          <rect x="150" y="32" width="16" height="16" rx="4" />
          <path d="M158 36v8M154 40h8" />
        </g>
      </g>
    </svg>
  );
}
