/** Stands in for a view that failed, so that the person is not left with an empty page. */

import { Component, type ReactNode } from "react";
import { Button } from "./button.tsx";

interface State {
  readonly failed: boolean;
}

/** Its `key` is what is shown: going elsewhere is a new start. */
export class Boundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { failed: false };

  static getDerivedStateFromError(): State {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <div role="alert" className="py-14 text-center">
        <h1 className="font-semibold text-xl">This view has a fault</h1>
        <p className="mt-1 mb-5 text-soft">Nothing of your data is lost by it.</p>
        <Button onClick={() => location.reload()}>Load the page anew</Button>
      </div>
    );
  }
}
