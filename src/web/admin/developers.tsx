/** What a developer needs: figures, charts and jobs of the processes. */

import type { ReactNode } from "react";
import type { Fault } from "../state/api.ts";
import { classes } from "../ui/classes.ts";
import { Problem, Skeleton } from "../ui/parts.tsx";
import { fullTime } from "../ui/time.ts";
import type { Minute } from "./api.ts";
import { count } from "./numbers.ts";
import { Jobs, Outbox, Process, Pushes, Rows, StoreState } from "./panels.tsx";
import { type PolledFigures, processesInTurn } from "./poll.ts";
import { Traffic } from "./traffic.tsx";

export function Developers({ polled }: { polled: PolledFigures }) {
  const { figures, faults, answers } = polled;
  const { overview, process, series, store, outbox, pushes, jobs } = figures;
  return (
    <div className="mt-3 space-y-5">
      <InTurn answers={answers} />
      <Tiles polled={polled} />
      <Panel title="Last three hours" of="all processes" data={series} fault={faults.series}>
        {({ minutes }) => (
          <Traffic
            minutes={minutes}
            pushes={
              minutes.some((minute) => minute.pushes_accepted + minute.pushes_failed > 0) ||
              (pushes?.lanes.some(({ counts }) => Object.keys(counts).length > 0) ?? false)
            }
          />
        )}
      </Panel>
      <div className="grid items-start gap-5 lg:grid-cols-2 xl:grid-cols-3">
        <Column>
          <Panel
            title="Tasks and questions"
            of="all processes"
            data={overview?.counts}
            fault={faults.overview}
          >
            {(counts) => <Rows counts={counts} />}
          </Panel>
          <Panel title="Process" of="this process" data={process} fault={faults.process}>
            {(data) => <Process figures={data} />}
          </Panel>
        </Column>
        <Column>
          <Panel title="Store" of="both" data={store} fault={faults.store}>
            {(data) => <StoreState figures={data} />}
          </Panel>
        </Column>
        <Column>
          <Panel title="Notifications" of="both" data={pushes} fault={faults.pushes}>
            {(data) => <Pushes figures={data} />}
          </Panel>
          <Panel title="Event outbox" of="both" data={outbox} fault={faults.outbox}>
            {({ events }) =>
              events ? (
                <Outbox events={events} />
              ) : (
                <p className="text-soft">The store is unavailable.</p>
              )
            }
          </Panel>
        </Column>
      </div>
      <Panel title="Jobs" of="this process" data={jobs} fault={faults.jobs}>
        {(data) => <Jobs figures={data} />}
      </Panel>
    </div>
  );
}

/**
 * Warns if several processes respond in turn at one address: the charts would alternate between
 * them.
 */
function InTurn({ answers }: Pick<PolledFigures, "answers">) {
  const processes = processesInTurn(answers).map(
    ({ pid, started_at }) => `${pid} since ${fullTime(started_at)}`,
  );
  if (processes.length === 0) return null;
  return (
    <p role="status" className="rounded-xl bg-warn-soft px-4 py-3 text-warn">
      {`${processes.length} processes answer in turn at this address (${processes.join("; ")}). The figures of “this process” are from the one that answered last. To watch one process, open its own address.`}
    </p>
  );
}

function Column({ children }: { children: ReactNode }) {
  return <div className="min-w-0 space-y-5">{children}</div>;
}

function Tiles({ polled: { figures } }: { polled: PolledFigures }) {
  const { overview, process, series, store } = figures;
  const counts = overview?.counts;
  const minute = lastWhole(series?.minutes);
  const tiles: readonly (readonly [string, number | undefined])[] = [
    ["Accounts", counts?.accounts],
    ["Keys", counts?.keys],
    ["Devices", counts?.devices],
    ["Open streams", process?.streams.open],
    ["Open waits", process?.waits.open],
    ["Requests / min", minute?.requests],
    ["5xx / min", minute?.server_errors],
  ];
  return (
    <ul aria-label="Summary" className="grid grid-cols-2 gap-3 sm:grid-cols-4 lg:grid-cols-8">
      {tiles.map(([name, value]) => (
        <Tile key={name} name={name} bad={name.startsWith("5xx") && (value ?? 0) > 0}>
          {value === undefined ? "–" : count(value)}
        </Tile>
      ))}
      <Tile name="Store" bad={store?.reachable === false}>
        {store ? (store.reachable ? "Up" : "Down") : "–"}
      </Tile>
    </ul>
  );
}

function Tile({ name, bad, children }: { name: string; bad: boolean; children: ReactNode }) {
  return (
    <li className={classes("card min-w-0 px-4 py-3", bad && "border-danger")}>
      <span className="block text-faint text-sm leading-5">{name}</span>
      <span
        className={classes(
          "block font-semibold text-2xl tabular-nums tracking-tight",
          bad && "text-danger",
        )}
      >
        {children}
      </span>
    </li>
  );
}

/** The last full minute, or the current one if there is none yet. */
const lastWhole = (minutes: readonly Minute[] | undefined) => minutes?.at(-2) ?? minutes?.at(-1);

interface PanelProps<Data> {
  readonly title: string;
  /** Which processes the figures cover. */
  readonly of: "this process" | "all processes" | "both";
  readonly data: Data | null | undefined;
  readonly fault: Fault | undefined;
  readonly children: (data: Data) => ReactNode;
}

/** Shows the latest data and, above it, why the last refresh failed. */
function Panel<Data>({ title, of, data, fault, children }: PanelProps<Data>) {
  return (
    <section aria-label={title} className="card min-w-0 p-5">
      <div className="mb-4 flex flex-wrap items-baseline justify-between gap-x-3">
        <h2 className="font-semibold text-base">{title}</h2>
        <span className="text-faint text-sm">
          {of === "both" ? "this process and the shared store" : of}
        </span>
      </div>
      {fault && (
        <div className="mb-4">
          <Problem>{fault.message}</Problem>
        </div>
      )}
      {data === null || data === undefined
        ? !fault && <Skeleton rows={2} label={`Loading ${title.toLowerCase()}`} />
        : children(data)}
    </section>
  );
}
