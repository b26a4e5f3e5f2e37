/**
 * The frame of views outside of the navigation, such as sign-in: a logo and a title over one
 * column.
 */

import type { ReactNode } from "react";
import { Logo } from "./logo.tsx";

export function Frame({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center px-5 py-10">
      <Logo className="size-14" />
      <h1 tabIndex={-1} className="mt-6 font-semibold text-3xl tracking-tight">
        {title}
      </h1>
      {children}
    </main>
  );
}
