/** What the page is called. It takes the focus with each view, whose form or button just went away. */

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
