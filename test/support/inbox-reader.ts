/** An agent that handles its inbox as the documentation shows, in a process that can be killed. */

import { argv } from "node:process";

const [url, secret] = argv.slice(2);
let handled = "";
for (;;) {
  const ack = handled && `&ack=${handled}`;
  const response = await fetch(`${url}/v1/inbox?peek=true&limit=7&wait=50${ack}`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  if (!response.ok) throw new Error(`the inbox answered ${response.status}`);
  const { items } = (await response.json()) as { items: { id: string; text: string }[] };
  for (const { id, text } of items) {
    // Handling an item means printing it; the item is acknowledged afterwards.
    process.stdout.write(`${text}\n`);
    handled = id;
  }
}
