import { get } from "../api/client";
import type { Health, LimitOverview, Overview } from "../api/types";
import { duration, number, span } from "../core/format";
import { useLive } from "../core/live";
import { prefs } from "../core/prefs";
import { Link, ask, path, usePlace } from "../core/router";
import { useHeld, useSteady } from "../core/steady";
import { useStore } from "../core/store";
import { Bar, Spark, Use } from "../parts/bar";
import { Ago, cli, Copy, CopyCli, Empty, Failed, Nil, Skeleton } from "../parts/basics";
import { HealthMark, Mark } from "../parts/icons";
import { Cell, Pages, Row, Sort } from "../parts/table";

const PAGE = 100;
const NOBODY: ReadonlySet<string> = new Set();

export function LimitsPage() {
  const { query } = usePlace();
  const asked = {
    text: query.get("text") ?? undefined,
    health: query.get("health") ?? undefined,
    only: query.get("only") ?? undefined,
    sort: query.get("sort") ?? "attention",
    reverse: query.get("reverse") === "true" || undefined,
    skip: Number(query.get("skip")) || undefined,
    most: PAGE,
  };
  const load = () => get<Overview>("/v1/overview", asked);
  const { data, trouble, refresh } = useLive(`overview ${JSON.stringify(asked)}`, load, { gapMs: 1_000 });
  return (
    <section class="page">
      <div class="title">
        <h1>Limits</h1>
        {data ? <Counts answer={data} chosen={asked.health} /> : null}
        <span class="spring" />
        <CopyCli words={["limits", "list"]} />
      </div>
      <Filters text={asked.text ?? ""} only={asked.only ?? ""} />
      {trouble && !data ? <Failed trouble={trouble} retry={refresh} /> : null}
      {!data && !trouble ? <Skeleton rows={8} /> : null}
      {data ? <Table answer={data} sort={asked.sort} isReverse={!!asked.reverse} isFiltered={!!(asked.text || asked.health || asked.only)} /> : null}
      {data ? <Pages skip={asked.skip ?? 0} most={PAGE} of={data.matching} noun="limits" /> : null}
    </section>
  );
}

/** How many limits there are of each health; each number filters. */
function Counts({ answer, chosen }: { answer: Overview; chosen: string | undefined }) {
  return (
    <ul class="chips" aria-label="By health">
      {answer.health.map(({ health, limits }) => (
        <li key={health}>
          <button
            type="button"
            class="chip"
            aria-pressed={chosen === health}
            onClick={() => ask({ health: chosen === health ? undefined : health, skip: undefined })}
          >
            <HealthMark health={health as Health} /> {number(limits)}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Filters({ text, only }: { text: string; only: string }) {
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Filter by name"
        placeholder="Filter by name"
        value={text}
        onInput={(event) => ask({ text: event.currentTarget.value, skip: undefined }, { replace: true })}
      />
      <select aria-label="Show only" value={only} onChange={(event) => ask({ only: event.currentTarget.value, skip: undefined })}>
        <option value="">All</option>
        <option value="waiting">With somebody waiting</option>
        <option value="overridden">Overridden</option>
        <option value="paused">Paused</option>
        <option value="retired">Retired</option>
      </select>
      <Columns />
    </div>
  );
}

interface Column {
  by: string;
  title: string;
  isText?: boolean;
  cell: (row: LimitOverview) => preact.ComponentChildren;
}

/** Every column but the name and the use, which are always there. */
const COLUMNS: Column[] = [
  { by: "waiting", title: "Waiting", cell: (row) => (row.waiting > 0 ? <b>{number(row.waiting)}</b> : <Nil />) },
  { by: "oldest_wait", title: "Oldest wait", cell: (row) => (row.oldest_queued_at ? <Ago at={row.oldest_queued_at} /> : <Nil />) },
  { by: "oldest_hold", title: "Oldest hold", cell: (row) => (row.oldest_granted_at ? <Ago at={row.oldest_granted_at} /> : <Nil />) },
  { by: "wait_p99", title: "Wait p50 / p99", cell: waits },
  { by: "expired", title: "Expired, 24 h", cell: expired },
  { by: "max_hold", title: "Max hold", cell: (row) => duration(row.max_hold_ms) },
];

function waits(row: LimitOverview) {
  const { wait_p50_ms: half, wait_p99_ms: most } = row;
  return typeof half === "number" && typeof most === "number" ? `${span(half)} / ${span(most)}` : <Nil />;
}

function expired(row: LimitOverview) {
  return row.expired_24h > 0 ? <b class="warn">{number(row.expired_24h)}</b> : <Nil />;
}

function Columns() {
  const { hidden } = useStore(prefs);
  const turn = (by: string) =>
    prefs.change({ hidden: hidden.includes(by) ? hidden.filter((other) => other !== by) : [...hidden, by] });
  return (
    <details class="settings">
      <summary>Columns</summary>
      <div class="menu">
        {[...COLUMNS, { by: "floor", title: "Last hour" }].map(({ by, title }) => (
          <label class="tick" key={by}>
            <input type="checkbox" checked={!hidden.includes(by)} onChange={() => turn(by)} />
            {title}
          </label>
        ))}
      </div>
    </details>
  );
}

interface TableProps {
  answer: Overview;
  sort: string;
  isReverse: boolean;
  isFiltered: boolean;
}

function Table({ answer, sort, isReverse, isFiltered }: TableProps) {
  const { hidden } = useStore(prefs);
  const { isHeld, handlers } = useHeld();
  const { rows, waiting } = useSteady(answer.limits, (row) => row.limit, isHeld, NOBODY);
  if (answer.total === 0) return <NoLimits />;
  if (rows.length === 0) return <NoHits isFiltered={isFiltered} />;
  const columns = COLUMNS.filter(({ by }) => !hidden.includes(by));
  const order = { sort, isReverse };
  return (
    <div class="table-box">
      <table class="stacking limits">
        <thead>
          <tr>
            <Sort by="health" isText {...order}>
              Health
            </Sort>
            <Sort by="name" isText {...order}>
              Name
            </Sort>
            <Sort by="used" isText {...order}>
              Use
            </Sort>
            {columns.map(({ by, title }) => (
              <Sort key={by} by={by} {...order}>
                {title}
              </Sort>
            ))}
            {hidden.includes("floor") ? null : <th scope="col">Free, last hour</th>}
          </tr>
        </thead>
        <tbody {...handlers}>
          {rows.map(({ id, row, isGone }) => [
            <Row key={id} to={path("limits", id)} isGone={isGone}>
              <Cell name="Health">
                <HealthMark health={row.health} />
              </Cell>
              <th scope="row" data-name="Name">
                <Name row={row} />
              </th>
              <Cell name="Use">
                <span class="use-cell">
                  <Bar limit={row} />
                  <Use limit={row} />
                </span>
              </Cell>
              {columns.map(({ by, title, cell }) => (
                <Cell key={by} name={title} num>
                  {cell(row)}
                </Cell>
              ))}
              {hidden.includes("floor") ? null : (
                <Cell name="Free, last hour">
                  <Spark floor={row.floor as (number | null)[]} capacity={row.capacity} />
                </Cell>
              )}
            </Row>,
            row.evidence ? (
              <tr key={`${id} evidence`} class="note">
                <td />
                <td colSpan={columns.length + 3}>{row.evidence}</td>
              </tr>
            ) : null,
          ])}
        </tbody>
      </table>
      {isHeld && waiting > 0 ? <p class="held">{waiting} more will come when you point elsewhere.</p> : null}
    </div>
  );
}

function Name({ row }: { row: LimitOverview }) {
  const isOverridden = typeof row.capacity_override === "number" || typeof row.max_hold_override_ms === "number";
  return (
    <span class="name">
        <Link to={path("limits", row.limit)} data-open>
          {row.limit}
        </Link>
        <Copy text={row.limit} what={`Copy the name ${row.limit}`} />
        {row.paused ? <Mark kind="paused">paused</Mark> : null}
        {row.retired ? <Mark kind="retired">retired</Mark> : null}
        {isOverridden ? <Mark kind="override">override</Mark> : null}
        {!row.evidence && row.held_by_ended_runs > 0 ? (
          <Mark kind="orphan">{`${row.held_by_ended_runs} held by ended runs`}</Mark>
        ) : null}
    </span>
  );
}

function NoLimits() {
  return (
    <Empty title="There are no limits yet">
      <p>Put them into maitred.toml and deploy them:</p>
      <pre>{`[limits."voice-calls"]\ncapacity = 20\nmax_hold = "45m"`}</pre>
      <p class="row">
        <code class="mono">{cli("apply", "--file", "maitred.toml")}</code>
        <Copy text={cli("apply", "--file", "maitred.toml")} what="Copy the command line" />
      </p>
    </Empty>
  );
}

function NoHits({ isFiltered }: { isFiltered: boolean }) {
  const clear = () => ask({ text: undefined, health: undefined, only: undefined, skip: undefined });
  return (
    <Empty title={isFiltered ? "No limit fits the filter" : "There is nothing on this page"}>
      <button type="button" onClick={clear}>
        {isFiltered ? "Clear the filter" : "Back to the first page"}
      </button>
    </Empty>
  );
}
