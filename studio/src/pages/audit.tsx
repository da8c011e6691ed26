import { useState } from "preact/hooks";
import { Trouble, call, get, newId } from "../api/client";
import type { Act as Acted, Audit } from "../api/types";
import { parseDuration } from "../core/format";
import { serverNow, useLive } from "../core/live";
import { Link, ask, path, usePlace } from "../core/router";
import { Act, At, CopyCli, Empty, Failed, Nil, Skeleton, Text } from "../parts/basics";
import { Dialog, useDialog, Why } from "../parts/dialog";
import { say } from "../parts/said";
import { Cell, Row } from "../parts/table";

const PAGE = 100;

const WORDS: Record<string, string> = {
  declared: "Declared",
  retired: "Retired",
  gone: "Gone",
  capacity: "Capacity",
  max_hold: "Max hold",
  paused: "Paused",
  resumed: "Resumed",
  released: "Released by hand",
  rate_reset: "Rate reset",
};

type Seen = Audit & { as_of: number; revision: number };

/** Spans that can be looked back. */
const WITHIN: Record<string, [string, number]> = {
  "1h": ["Last hour", 3_600_000],
  "24h": ["Last 24 hours", 86_400_000],
  "7d": ["Last 7 days", 7 * 86_400_000],
};

/** What was changed, by whom, why, and what it was before. The server leaves out what is not asked for. */
export function AuditPage() {
  const { query } = usePlace();
  const of = (name: string) => query.get(name) ?? "";
  const [limit, act, by, within, before] = [of("limit"), of("act"), of("by"), of("within"), of("before")];
  const asked = () => ({ limit, act, by, since: WITHIN[within] && serverNow() - WITHIN[within][1] });
  const load = async (): Promise<Seen> => {
    const answer = await get<Audit>("/v1/audit", { ...asked(), before, most: PAGE });
    return { ...answer, as_of: serverNow(), revision: answer.reach.filled_to };
  };
  const { data, trouble, refresh } = useLive(`audit ${[limit, act, by, within, before].join(" ")}`, load, { gapMs: 1_000 });
  const { asked: undone, ask: undo, ends } = useDialog<Acted>(refresh);
  const isFiltered = !!(limit || act || by || within);
  return (
    <section class="page">
      <div class="title">
        <h1>Audit</h1>
        <span class="faint">what was changed about limits and rates</span>
        <span class="spring" />
        {data ? <Save all={() => everything(asked())} /> : null}
        <CopyCli words={["audit", ...(limit ? ["--limit", limit] : []), ...(act ? ["--act", act] : []), ...(by ? ["--by", by] : [])]} />
      </div>
      <div class="filters">
        <input type="search" aria-label="Of this limit" placeholder="Of this limit" value={limit} onChange={(event) => ask({ limit: event.currentTarget.value, before: undefined })} />
        <select aria-label="Act" value={act} onChange={(event) => ask({ act: event.currentTarget.value, before: undefined })}>
          <option value="">All acts</option>
          {Object.entries(WORDS).map(([name, title]) => <option key={name} value={name}>{title}</option>)}
        </select>
        <input type="search" aria-label="By whom" placeholder="By whom" value={by} onInput={(event) => ask({ by: event.currentTarget.value, before: undefined }, { replace: true })} />
        <select aria-label="When" value={within} onChange={(event) => ask({ within: event.currentTarget.value, before: undefined })}>
          <option value="">At any time</option>
          {Object.entries(WITHIN).map(([name, [title]]) => <option key={name} value={name}>{title}</option>)}
        </select>
      </div>
      {data?.reach.trouble ? <p class="warn">The history is not filled, and is tried again: {data.reach.trouble}</p> : null}
      {!data ? (trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />) : <Table acts={data.acts} isFiltered={isFiltered} onUndo={undo} />}
      {data && (data.next || before) ? (
        <nav class="pages" aria-label="Pages">
          <button type="button" disabled={!before} onClick={() => ask({ before: undefined })}>← Newest</button>
          <span>{data.acts.length} acts</span>
          <button type="button" disabled={!data.next} onClick={() => ask({ before: data.next ?? undefined })}>Older →</button>
        </nav>
      ) : null}
      {undone ? <UndoDialog entry={undone} {...ends} /> : null}
    </section>
  );
}

function Table({ acts, isFiltered, onUndo }: { acts: Acted[]; isFiltered: boolean; onUndo: (entry: Acted) => void }) {
  if (acts.length === 0 && !isFiltered) return <Empty title="Nothing was changed yet" />;
  if (acts.length === 0) return <Empty title="Nothing fits the filter"><button type="button" onClick={() => ask({ act: undefined, by: undefined, limit: undefined, within: undefined, before: undefined })}>Clear the filter</button></Empty>;
  return (
    <div class="table-box">
      <table class="stacking">
        <thead>
          <tr>
            <th scope="col" class="num">When</th>
            <th scope="col">Act</th>
            <th scope="col">Of</th>
            <th scope="col">Before → after</th>
            <th scope="col">By</th>
            <th scope="col">Reason</th>
            <th scope="col" class="num">Revision</th>
            <th scope="col"><span class="unseen">Undo</span></th>
          </tr>
        </thead>
        <tbody>
          {acts.map((entry) => (
            <Row key={`${entry.revision} ${entry.act} ${entry.target} ${entry.before}`} to={path("limits", entry.target)}>
              <Cell name="When" num><At at={entry.at} /></Cell>
              <th scope="row" data-name="Act">{WORDS[entry.act] ?? entry.act}</th>
              <Cell name="Of">{entry.act === "rate_reset" ? <Text mono>{entry.target}</Text> : <Link to={path("limits", entry.target)} data-open>{entry.target}</Link>}</Cell>
              <Cell name="Before → after"><Change entry={entry} /></Cell>
              <Cell name="By">{entry.by ? <Text>{entry.by}</Text> : <span class="faint">the limiter</span>}</Cell>
              <Cell name="Reason">{entry.reason ? <Text>{entry.reason}</Text> : <Nil />}</Cell>
              <Cell name="Revision" num>{entry.revision}</Cell>
              <Cell name="" class="acts">{isOverride(entry) ? <Act act="undo" kind="quiet" onClick={() => onUndo(entry)}>Undo…</Act> : null}</Cell>
            </Row>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const isOverride = (entry: Acted): boolean => entry.act === "capacity" || entry.act === "max_hold";

function Change({ entry }: { entry: Acted }) {
  if (isOverride(entry)) return <>{entry.before ?? "as declared"} → {entry.after ?? "as declared"}</>;
  if (entry.act === "released" && entry.before) return <Link to={path("limits", entry.target, "slots", entry.before)}><Text mono>{entry.before}</Text></Link>;
  return entry.after ? <Text>{entry.after}</Text> : <Nil />;
}

/** So many pages of a thousand are saved at the most. */
const SAVED_PAGES = 100;

async function everything(asked: Record<string, string | number | undefined>): Promise<Acted[]> {
  const all: Acted[] = [];
  let before: string | undefined;
  for (let page = 0; page < SAVED_PAGES; page++) {
    const answer = await get<Audit>("/v1/audit", { ...asked, before, most: 1_000 });
    all.push(...answer.acts);
    if (!answer.next) break;
    before = answer.next;
  }
  return all;
}

/** All that fits the filter, a line of JSON each. */
function Save({ all }: { all: () => Promise<Acted[]> }) {
  const save = async () => {
    const lines = await all().then((acts) => acts.map((entry) => JSON.stringify(entry) + "\n"), () => undefined);
    if (!lines) return say("Not saved: the server did not answer.", "failed");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    link.download = "maitred-audit.jsonl";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return <button type="button" class="quiet" onClick={save}>Save as JSON lines</button>;
}

/** Puts the value before an override back, as a new act. */
function UndoDialog({ entry, onClose, onDone }: { entry: Acted; onClose: () => void; onDone: () => void }) {
  const [why, setWhy] = useState("");
  const [id] = useState(newId);
  const [trouble, setTrouble] = useState<Trouble>();
  const field = entry.act.replace("_", "-");
  const undo = async () => {
    const target = `/v1/limits/${encodeURIComponent(entry.target)}/${field}`;
    const value = entry.act === "max_hold" ? parseDuration(entry.before ?? "") : entry.before;
    try {
      if (entry.before) await call("PUT", target, { why, id, body: { [entry.act]: value } });
      else await call("DELETE", target, { why, id });
      say(`Put back: ${entry.before ?? "as declared"}.`);
      onDone();
    } catch (error) {
      setTrouble(error as Trouble);
    }
  };
  return (
    <Dialog title={`Undo this change of ${entry.target}?`} onClose={onClose}>
      <p>
        {WORDS[entry.act]} goes back to <b>{entry.before ?? "what is declared"}</b>. It is written down as a new act; what was granted meanwhile stays.
      </p>
      <Why value={why} onInput={setWhy} />
      {trouble ? <Failed trouble={trouble} /> : null}
      <div class="row end">
        <CopyCli words={["limits", field, entry.target, entry.before ?? "reset", ...(why ? ["--reason", why] : [])]} />
        <span class="spring" />
        <button type="button" data-first onClick={onClose}>Keep</button>
        <button type="button" class="primary" onClick={undo}>Undo</button>
      </div>
    </Dialog>
  );
}
