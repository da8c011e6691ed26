import type { Act, Series } from "../api/types";
import { duration, moment, number, short, span } from "../core/format";
import { ask } from "../core/router";
import { At, Text } from "../parts/basics";
import { Plot, type Event, type Line } from "./plot";

const RANGES = [
  ["15m", 15 * 60_000],
  ["1h", 3_600_000],
  ["6h", 6 * 3_600_000],
  ["24h", 24 * 3_600_000],
] as const;

/** What is marked: deploys, what operators changed, and what they released. */
const WORDS: Record<string, string> = {
  declared: "deployed",
  retired: "retired",
  capacity: "capacity changed",
  max_hold: "max hold changed",
  paused: "paused",
  resumed: "resumed",
  released: "slot released by hand",
};
const COLORS: Record<string, string> = { declared: "--ink-3", retired: "--ink-3", released: "--chart-4" };

interface Chart {
  title: string;
  lines: Line[];
  shown: (value: number) => string;
}

/** What the limit did, as far back as this server knows. */
export function Charts({ series, acts, range }: { series: Series; acts: Act[]; range: string }) {
  const from = series.at[0] ?? series.as_of;
  const marked = acts.filter((act) => act.at >= from && WORDS[act.act]);
  const events = marked.map(event);
  const charts = chartsOf(series);
  return (
    <div class="charts">
      <div class="row">
        <h2>Over time</h2>
        <span class="spring" />
        <div class="segments" role="group" aria-label="How far back">
          {offered(series).map(([name]) => (
            <button type="button" key={name} aria-pressed={name === range} onClick={() => ask({ range: name === "1h" ? undefined : name })}>
              {name}
            </button>
          ))}
        </div>
      </div>
      {charts.map((chart) => (
        <Plot key={chart.title} at={series.at} events={events} {...chart} />
      ))}
      {marked.length > 0 ? <Marks acts={marked} /> : null}
      <p class="faint">
        Known since <At at={series.known_since} />, in steps of {duration(series.step_ms)}.
      </p>
      <Numbers series={series} charts={charts} />
    </div>
  );
}

/** Ranges that there is anything of; the shortest two always. */
function offered(series: Series) {
  const known = series.as_of - series.known_since;
  return RANGES.filter((_, at) => at < 2 || known > RANGES[at - 1]![1]);
}

const event = (act: Act): Event => ({ at: act.at, text: WORDS[act.act]!, color: colorOf(act) });
const colorOf = (act: Act): string => COLORS[act.act] ?? "--chart-5";

function chartsOf(series: Series): Chart[] {
  const plain = (value: number) => number(Math.round(value * 10) / 10);
  const ends = series.released.map((released, at) => released + series.expired[at]! + series.run_ended[at]!);
  return [
    {
      title: "Available places",
      shown: plain,
      lines: [
        { title: "lowest", values: series.available_min as (number | null)[], color: "--chart-1", kind: "step", isFilled: true },
        { title: "capacity", values: series.capacity as (number | null)[], color: "--chart-2", kind: "step", isDashed: true },
        { title: "reserved", values: series.reserved as (number | null)[], color: "--chart-3", kind: "step", above: 0 },
      ],
    },
    {
      title: "Waiting",
      shown: plain,
      lines: [{ title: "most in the queue", values: series.waiting_max as (number | null)[], color: "--chart-3", kind: "step", isFilled: true }],
    },
    {
      title: "Wait before a grant",
      shown: span,
      lines: [
        { title: "p99", values: series.wait_p99_ms as (number | null)[], color: "--chart-3", kind: "bars" },
        { title: "p50", values: series.wait_p50_ms as (number | null)[], color: "--chart-1", kind: "bars" },
      ],
    },
    {
      title: "Granted and given back",
      shown: plain,
      lines: [
        { title: "granted", values: series.grants, color: "--chart-1", kind: "step" },
        { title: "given back", values: ends, color: "--chart-5", kind: "step", isDashed: true },
      ],
    },
    {
      title: "Timeouts and expiries",
      shown: plain,
      lines: [
        { title: "gave up waiting", values: series.timed_out, color: "--chart-3", kind: "bars" },
        { title: "taken back at max hold", values: series.expired, color: "--chart-4", kind: "bars" },
      ],
    },
  ];
}

const MARKS = 8;

function Marks({ acts }: { acts: Act[] }) {
  return (
    <ul class="marks" aria-label="What was done in this time">
      {acts.slice(0, MARKS).map((act) => (
        <li key={`${act.revision} ${act.act} ${act.before}`}>
          <i style={{ borderColor: `var(${colorOf(act)})` }} aria-hidden="true" /> <At at={act.at} /> {WORDS[act.act]}
          {act.act === "released" && act.before ? <>: <Text mono>{short(act.before)}</Text></> : null}
          {act.after ? <> to <Text>{act.after}</Text></> : null}
          {act.by ? <span class="faint"> by <Text>{act.by}</Text></span> : null}
        </li>
      ))}
      {acts.length > MARKS ? <li class="faint">and {acts.length - MARKS} before</li> : null}
    </ul>
  );
}

/** The same numbers as text; steps in which nothing was granted, ended or waited for are left out. */
function Numbers({ series, charts }: { series: Series; charts: Chart[] }) {
  const lines = charts.flatMap((chart) => chart.lines.map((line) => ({ ...line, shown: chart.shown })));
  const isEventful = (at: number) =>
    series.grants[at]! + series.released[at]! + series.expired[at]! + series.timed_out[at]! + (series.waiting_max[at] ?? 0) > 0;
  const steps = series.at.map((_, at) => at).filter(isEventful).slice(-120).reverse();
  return (
    <details class="as-table">
      <summary>The same as a table</summary>
      <div class="table-box" tabIndex={0} role="region" aria-label="Numbers over time">
        <table>
          <thead>
            <tr>
              <th scope="col">Step</th>
              {lines.map(({ title }) => (
                <th scope="col" class="num" key={title}>{title}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((at) => (
              <tr key={at}>
                <th scope="row">{moment(series.at[at]!)}</th>
                {lines.map(({ title, values, shown }) => (
                  <td class="num" key={title}>{typeof values[at] === "number" ? shown(values[at]) : "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {steps.length === 0 ? <p class="faint">Nothing happened in this time.</p> : null}
      </div>
    </details>
  );
}
