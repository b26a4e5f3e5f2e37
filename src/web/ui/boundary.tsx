/** Error boundary: replaces a view, or a part of one, that failed to render with an error message. */

import { Component, type ReactNode } from "react";
import { Button } from "./button.tsx";

interface BoundaryProps {
  readonly children: ReactNode;
  /** Shown in place of a part that failed; when absent, the message for a whole view is. */
  readonly instead?: ReactNode;
}

interface State {
  readonly failed: boolean;
}

/** Set `key` to the current view, so that navigation resets the error. */
export class Boundary extends Component<BoundaryProps, State> {
  override state: State = { failed: false };

  static getDerivedStateFromError(): State {
    return { failed: true };
  }

  override render(): ReactNode {
    const { children, instead } = this.props;
    if (!this.state.failed) return children;
    if (instead !== undefined) return instead;
    return (
      <div role="alert" className="py-14 text-center">
        <h1 className="font-semibold text-xl">Something went wrong</h1>
        <p className="mt-1 mb-5 text-soft">Your data is safe.</p>
        <ReloadButton />
      </div>
    );
  }
}

const ReloadButton = () => <Button onClick={() => location.reload()}>Reload page</Button>;

interface PartProps {
  readonly children: ReactNode;
  /** What it is, such as `question`. */
  readonly name: string;
}

/** A part of a view, such as an item of a list, that fails alone. */
export const Part = ({ children, name }: PartProps) => (
  <Boundary
    instead={
      <p role="alert" className="px-4 py-3 text-soft">
        {`This ${name} can't be shown. Reload the page to try again.`}
      </p>
    }
  >
    {children}
  </Boundary>
);
