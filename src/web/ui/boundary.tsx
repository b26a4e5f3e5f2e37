/** Error boundary: replaces a view that failed to render with an error message. */

import { Component, type ReactNode } from "react";
import { Button } from "./button.tsx";

interface State {
  readonly failed: boolean;
}

/** Set `key` to the current view, so that navigation resets the error. */
export class Boundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { failed: false };

  static getDerivedStateFromError(): State {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <div role="alert" className="py-14 text-center">
        <h1 className="font-semibold text-xl">Something went wrong</h1>
        <p className="mt-1 mb-5 text-soft">Your data is safe.</p>
        <Button onClick={() => location.reload()}>Reload page</Button>
      </div>
    );
  }
}
