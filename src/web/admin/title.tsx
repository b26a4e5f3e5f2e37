/** The title of the page. It takes the focus in each view, since the previous focus is gone. */

import { useEffect, useRef } from "react";

export function Title({ className }: { className: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus({ preventScroll: true }), []);
  return (
    <h1 ref={title} tabIndex={-1} className={className}>
      Relay admin
    </h1>
  );
}
