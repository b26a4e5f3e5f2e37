/** The end of a set-up: a test that the person answers, and another one if it did not arrive. */

import { useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { ChannelTest } from "./channel-test.tsx";

interface ProvenTestProps {
  readonly id: string;
  /** See `ChannelTest`. */
  readonly is_here: boolean;
  readonly onReached: () => void;
}

export function ProvenTest({ id, is_here, onReached }: ProvenTestProps) {
  const [turn, setTurn] = useState(0);
  const [sent, setSent] = useState(false);
  const [reached, setReached] = useState(false);
  return (
    <div className="space-y-3">
      <ChannelTest
        key={turn}
        id={id}
        is_here={is_here}
        onDone={() => setSent(true)}
        onReached={() => {
          setReached(true);
          onReached();
        }}
      />
      {sent && !reached && (
        <Button
          onClick={() => {
            setSent(false);
            setTurn(turn + 1);
          }}
        >
          Send another test
        </Button>
      )}
    </div>
  );
}
