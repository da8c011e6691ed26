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

/** Pages of a filtered list may be empty although more follow. */
const EMPTY_PAGES = 10;

async function load(asked: Record<string, string | number | undefined>): Promise<Runs> {
  let answer = await get<Runs>("/v1/runs", asked);
  for (let page = 1; answer.runs.length === 0 && answer.next && page < EMPTY_PAGES; page++) {
    answer = await get<Runs>("/v1/runs", { ...asked, after: answer.next });
  }
  return answer;
}

/** The runs that hold or wait for something: which, for how long, and what for. The server leaves out what is not asked for. */
export function RunsPage() {
  const { query } = usePlace();
  const of = (name: string) => query.get(name) ?? "";
  const [text, only, limit, after] = [of("text"), of("only"), of("limit"), of("after")];
  const asked = { text, only, limit, after, most: PAGE };
  const { data, trouble, refresh } = useLive(`runs ${JSON.stringify(asked)}`, () => load(asked), { gapMs: 1_000 });
  return (
    <section class="page">
      <div class="title">
        <h1>Runs</h1>
        <span class="faint">that hold or wait for something</span>
        <span class="spring" />
        <CopyCli words={["runs", "list", ...(only ? ["--only", only] : []), ...(limit ? ["--limit", limit] : []), ...(text ? ["--text", text] : [])]} />
      </div>
      <div class="filters">
        <input type="search" aria-label="Filter by run, workflow, label or limit" placeholder="Filter by run, workflow, label or limit" value={text}
          onInput={(event) => ask({ text: event.currentTarget.value, after: undefined }, { replace: true })} />
        <input type="search" aria-label="Of this limit" placeholder="Of this limit" value={limit} onChange={(event) => ask({ limit: event.currentTarget.value, after: undefined })} />
        <select aria-label="Show only" value={only} onChange={(event) => ask({ only: event.currentTarget.value, after: undefined })}>
          <option value="">All</option>
          <option value="waiting">Waiting</option>
          <option value="holding">Holding</option>
          <option value="ended">Ended, still holding</option>
        </select>
      </div>
      {!data ? (trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />) : <Table runs={data.runs} isFiltered={!!(text || only || limit)} />}
      {data && (data.next || after) ? (
        <nav class="pages" aria-label="Pages">
          <button type="button" disabled={!after} onClick={() => ask({ after: undefined })}>← First</button>
          <span>{data.runs.length} runs</span>
          <button type="button" disabled={!data.next} onClick={() => ask({ after: data.next ?? undefined })}>Next →</button>
        </nav>
      ) : null}
    </section>
  );
}

function Table({ runs, isFiltered }: { runs: Run[]; isFiltered: boolean }) {
  const { isHeld, handlers } = useHeld();
  const { rows } = useSteady(runs, (run) => run.run, isHeld, NOBODY);
  if (rows.length === 0 && !isFiltered) return <Empty title="No run holds or waits for anything"><p>A run is listed from its first slot or place to its last: <code class="mono">acquire … run</code>.</p></Empty>;
  if (rows.length === 0) return <Empty title="No run fits the filter"><button type="button" onClick={() => ask({ text: undefined, only: undefined, limit: undefined, after: undefined })}>Clear the filter</button></Empty>;
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
