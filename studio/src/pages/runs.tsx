import { get } from "../api/client";
import type { Run, Runs } from "../api/types";
import { useLive } from "../core/live";
import { Link, ask, path, usePlace } from "../core/router";
import { useHeld, useSteady } from "../core/steady";
import { Ago, CopyCli, Empty, Failed, Nil, Skeleton, Text } from "../parts/basics";
import { Mark } from "../parts/icons";
import { Cell, Row } from "../parts/table";

const PAGE = 200;
const NOBODY: ReadonlySet<string> = new Set();

const FILTERS: Record<string, (run: Run) => boolean> = {
  waiting: (run) => run.slots.some(({ state }) => state === "queued"),
  holding: (run) => run.slots.some(({ state }) => state === "busy" || state === "reserved"),
  ended: (run) => run.slots.some(({ run_ended_at }) => run_ended_at),
};

/** The runs that hold or wait for something: which, for how long, and what for. */
export function RunsPage() {
  const { query } = usePlace();
  const after = query.get("after") ?? undefined;
  const [text, only] = [query.get("text") ?? "", query.get("only") ?? ""];
  const { data, trouble, refresh } = useLive(`runs ${after}`, () => get<Runs>("/v1/runs", { after, most: PAGE }), { gapMs: 1_000 });
  const fits = (run: Run) => (FILTERS[only]?.(run) ?? true) && (!text || matches(run, text));
  return (
    <section class="page">
      <div class="title">
        <h1>Runs</h1>
        <span class="faint">that hold or wait for something</span>
        <span class="spring" />
        <CopyCli words={["runs", "list"]} />
      </div>
      <div class="filters">
        <input type="search" aria-label="Filter by run, workflow, label or limit" placeholder="Filter by run, workflow, label or limit" value={text}
          onInput={(event) => ask({ text: event.currentTarget.value }, { replace: true })} />
        <select aria-label="Show only" value={only} onChange={(event) => ask({ only: event.currentTarget.value })}>
          <option value="">All</option>
          <option value="waiting">Waiting</option>
          <option value="holding">Holding</option>
          <option value="ended">Ended, still holding</option>
        </select>
      </div>
      {!data ? (trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />) : <Table runs={data.runs.filter(fits)} of={data.runs.length} />}
      {data && (data.next || after) ? (
        <nav class="pages" aria-label="Pages">
          <button type="button" disabled={!after} onClick={() => ask({ after: undefined })}>← First</button>
          <span>{data.runs.length} runs on this page; filters look at this page</span>
          <button type="button" disabled={!data.next} onClick={() => ask({ after: data.next ?? undefined })}>Next →</button>
        </nav>
      ) : null}
    </section>
  );
}

function matches(run: Run, text: string): boolean {
  const words = [run.run, ...run.slots.flatMap((slot) => [slot.workflow, slot.label, ...(slot.limits ?? []).map(({ limit }) => limit)])];
  return words.some((word) => word?.toLowerCase().includes(text.toLowerCase()));
}

function Table({ runs, of }: { runs: Run[]; of: number }) {
  const { isHeld, handlers } = useHeld();
  const { rows } = useSteady(runs, (run) => run.run, isHeld, NOBODY);
  if (of === 0) return <Empty title="No run holds or waits for anything"><p>A run is listed from its first slot or place to its last: <code class="mono">acquire … run</code>.</p></Empty>;
  if (rows.length === 0) return <Empty title="No run fits the filter"><button type="button" onClick={() => ask({ text: undefined, only: undefined })}>Clear the filter</button></Empty>;
  return (
    <div class="table-box">
      <table class="stacking">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Workflow</th>
            <th scope="col">Holds</th>
            <th scope="col">Waits for</th>
            <th scope="col" class="num">Places in flight</th>
          </tr>
        </thead>
        <tbody {...handlers}>
          {rows.map(({ id, row, isGone }) => {
            const held = row.slots.filter(({ state }) => state !== "queued");
            const queued = row.slots.filter(({ state }) => state === "queued");
            const workflow = row.slots.find((slot) => slot.workflow)?.workflow;
            return (
              <Row key={id} to={path("runs", id)} isGone={isGone}>
                <th scope="row" data-name="Run">
                  <Link to={path("runs", id)} data-open><Text mono>{id}</Text></Link>
                  {row.slots.some((slot) => slot.run_ended_at) ? <Mark kind="orphan">ended, still holding</Mark> : null}
                </th>
                <Cell name="Workflow">{workflow ? <Text>{workflow}</Text> : <Nil />}</Cell>
                <Cell name="Holds">
                  {held.length === 0 ? <Nil /> : held.map((slot) => (
                    <span class="each" key={slot.slot}>{slot.limits?.map(({ limit }) => <Link key={limit} to={path("limits", limit)}>{limit}</Link>)} <span class="faint">for {slot.granted_at ? <Ago at={slot.granted_at} /> : "–"}</span></span>
                  ))}
                </Cell>
                <Cell name="Waits for">
                  {queued.length === 0 ? <Nil /> : queued.map((slot) => (
                    <span class="each" key={slot.slot}>{slot.limits?.map(({ limit }) => <Link key={limit} to={path("limits", limit)}>{limit}</Link>)} <span class="faint">place {slot.place}, for {slot.queued_at ? <Ago at={slot.queued_at} /> : "–"}</span></span>
                  ))}
                </Cell>
                <Cell name="Places in flight" num>{row.places.length || <Nil />}</Cell>
              </Row>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
