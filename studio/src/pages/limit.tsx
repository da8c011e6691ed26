import { get } from "../api/client";
import type { Act as Acted, Audit, History, LimitInfo, LimitOverview, LimitSlots, Overview, Series } from "../api/types";
import { duration, number, span } from "../core/format";
import { useLive } from "../core/live";
import { Link, path, usePlace } from "../core/router";
import { Charts } from "../limit/charts";
import { EditDialog } from "../limit/edit";
import { EndedTable } from "../limit/ended";
import { PauseDialog } from "../limit/pause";
import { Holders, Queue } from "../limit/slots";
import { Bar } from "../parts/bar";
import { Act, Ago, Copy, CopyCli, Empty, Failed, Skeleton, Text } from "../parts/basics";
import { useDialog } from "../parts/dialog";
import { HealthMark, Mark } from "../parts/icons";

interface Seen {
  slots: LimitSlots;
  overview: LimitOverview | undefined;
  series: Series | undefined;
  /** What was done in the time of the charts. */
  acts: Acted[];
  /** Who set what is in force: the last act of each kind. */
  set: Acted[];
  ended: History | undefined;
  as_of: number;
  revision: number;
}

/** Slots on the page; the rest is counted. */
const SLOTS = 500;

/** Acts that are marked in the charts. */
const MARKED = 200;

/** What is true comes first and must come; the numbers over time may be missing. */
async function load(name: string, range: string): Promise<Seen> {
  const of = `/v1/limits/${encodeURIComponent(name)}`;
  const missing = () => undefined;
  const looked = series(of, name, range).catch(missing);
  const [slots, overview, told, ended] = await Promise.all([
    get<LimitSlots>(`${of}/slots`, { most: SLOTS }),
    get<Overview>("/v1/overview", { limit: name, most: 1 }).catch(missing),
    looked,
    get<History>(`${of}/history`, { most: 20 }).catch(missing),
  ]);
  const { as_of, revision, limit } = slots;
  const set = await Promise.all(inForce(limit).map((act) => get<Audit>("/v1/audit", { limit: name, act, most: 1 }).catch(missing)));
  return { slots, overview: overview?.limits[0], series: told?.series, acts: told?.acts ?? [], set: set.flatMap((audit) => audit?.acts ?? []), ended, as_of, revision };
}

/** The numbers over time, and what was done in that time. */
async function series(of: string, name: string, range: string) {
  const told = await get<Series>(`${of}/series`, { range });
  const audit = await get<Audit>("/v1/audit", { limit: name, since: told.at[0], most: MARKED });
  return { series: told, acts: audit.acts };
}

/** Kinds of acts that left something behind. */
function inForce(limit: LimitInfo): string[] {
  const is = { capacity: typeof limit.capacity_override === "number", max_hold: typeof limit.max_hold_override_ms === "number", paused: limit.paused };
  return Object.entries(is).flatMap(([act, isSo]) => (isSo ? [act] : []));
}

export function LimitPage({ name }: { name: string }) {
  const { query } = usePlace();
  const range = query.get("range") ?? "1h";
  const { data, trouble, refresh } = useLive(`limit ${name} ${range}`, () => load(name, range), { limit: name });
  const { asked, ask, ends } = useDialog<"edit" | "pause">(refresh);
  if (!data) {
    if (trouble?.reason === "limit_not_found") return <NoSuchLimit name={name} />;
    return trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton rows={10} />;
  }
  const { slots, overview, series } = data;
  const limit = slots.limit;
  return (
    <section class="page limit">
      <Top seen={data} onOpen={ask} />
      <div class="columns">
        <div class="column">
          <h2>
            Holding <span class="faint">{number(limit.busy_slots)} busy, {number(limit.reserved_slots)} reserved</span>
          </h2>
          <Holders limit={limit} holders={slots.holders} queue={slots.queue} refresh={refresh} />
          <h2 id="queue">
            Waiting <span class="faint">{number(limit.waiting)}, in order</span>
          </h2>
          <Queue limit={limit} queue={slots.queue} drainsIn={overview?.drains_in_ms} />
        </div>
        <aside class="column" aria-label="Over time">
          {series ? <Charts series={series} acts={data.acts} range={range} /> : <Empty title="No numbers over time" />}
        </aside>
      </div>
      <h2>
        Ended lately <span class="faint">newest first</span>
      </h2>
      {data.ended ? <EndedTable ends={data.ended.ends} /> : <Empty title="This server keeps no history" />}
      {asked === "edit" ? <EditDialog limit={limit} {...ends} /> : null}
      {asked === "pause" ? <PauseDialog limit={limit} {...ends} /> : null}
    </section>
  );
}

function Top({ seen, onOpen }: { seen: Seen; onOpen: (what: "edit" | "pause") => void }) {
  const { slots, overview, set: acts } = seen;
  const limit = slots.limit;
  return (
    <>
      <nav class="crumbs" aria-label="You are here">
        <Link to="/limits">Limits</Link> <span aria-hidden="true">/</span> <span>{limit.limit}</span>
      </nav>
      <div class="title">
        <h1>{limit.limit}</h1>
        <Copy text={limit.limit} what="Copy the name" />
        {overview ? <HealthMark health={overview.health} /> : null}
        {limit.retired ? <Mark kind="retired">retired</Mark> : null}
        <span class="spring" />
        <CopyCli words={["limits", "slots", limit.limit]} />
        <Act act="pause" onClick={() => onOpen("pause")}>{limit.paused ? "Resume…" : "Pause…"}</Act>
        <Act act="edit" kind="primary" onClick={() => onOpen("edit")}>Edit…</Act>
      </div>
      {limit.paused ? <Banner acts={acts} /> : null}
      {overview?.evidence ? (
        <p class={`verdict ${overview.health}`}>
          <b>{overview.evidence}</b> {overview.advice}
        </p>
      ) : null}
      <dl class="numbers">
        <Big name="Busy" value={number(limit.busy)} note={limit.busy + limit.reserved > limit.capacity ? "draining" : `of ${number(limit.capacity)}`} />
        <Big name="Reserved" value={number(limit.reserved)} note="to be confirmed" />
        <Big name="Available" value={number(limit.available)} note={limit.paused ? "none while paused" : "now"} />
        <Big name="Waiting" value={number(limit.waiting)} note={limit.oldest_queued_at ? <>oldest <Ago at={limit.oldest_queued_at} /></> : "nobody"} />
        <Big name="Wait p99" value={ms(overview?.wait_p99_ms)} note={`p50 ${ms(overview?.wait_p50_ms)}, last 15 m`} />
        <Big name="Expired" value={overview ? number(overview.expired_24h) : "–"} note="24 hours" />
        <Big name="Max hold" value={duration(limit.max_hold_ms)} note={<Source acts={acts} act="max_hold" is={typeof limit.max_hold_override_ms === "number"} declared={duration(limit.declared_max_hold_ms)} />} />
        <Big name="Capacity" value={number(limit.capacity)} note={<Source acts={acts} act="capacity" is={typeof limit.capacity_override === "number"} declared={number(limit.declared_capacity)} />} />
      </dl>
      <Bar limit={limit} />
    </>
  );
}

function Big({ name, value, note }: { name: string; value: string; note: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b>
        <span class="faint">{note}</span>
      </dd>
    </div>
  );
}

const ms = (value: number | null | undefined): string => (typeof value === "number" ? span(value) : "–");

/** Where a value comes from: the file, or whose override. */
function Source({ acts, act, is, declared }: { acts: Acted[]; act: string; is: boolean; declared: string }) {
  if (!is) return <>as declared</>;
  const last = acts.find((entry) => entry.act === act);
  return (
    <span class="override">
      override{last?.by ? <> by <Text>{last.by}</Text></> : null}
      {last ? <>, <Ago at={last.at} word="ago" /></> : null}; declared {declared}
    </span>
  );
}

function Banner({ acts }: { acts: Acted[] }) {
  const last = acts.find((entry) => entry.act === "paused");
  return (
    <p class="banner" role="status">
      <Mark kind="paused">Paused</Mark> Nothing is granted until it is resumed.
      {last ? (
        <>
          {" "}Since <Ago at={last.at} />
          {last.by ? <>, by <Text>{last.by}</Text></> : null}
          {last.reason ? <>: <Text>{last.reason}</Text></> : null}
        </>
      ) : null}
    </p>
  );
}

function NoSuchLimit({ name }: { name: string }) {
  return (
    <Empty title={`There is no limit ${name}`} isPage>
      <p>It was never declared, or it was retired and its last slot has ended.</p>
      <p class="row">
        <Link to="/limits">See the limits</Link>
        <Link to={path("audit") + `?limit=${encodeURIComponent(name)}`}>See what became of it</Link>
      </p>
    </Empty>
  );
}
