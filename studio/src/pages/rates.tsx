import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { Key, Keys } from "../api/types";
import { number } from "../core/format";
import { useLive } from "../core/live";
import { Link, ask, go, path, usePlace } from "../core/router";
import { useHeld, useSteady } from "../core/steady";
import { CopyCli, Empty, Failed, Nil, Skeleton, Text, Until, useLacking } from "../parts/basics";
import { Cell, Row } from "../parts/table";
import { PreviewBox } from "../parts/preview-box";
import { WindowBar } from "../parts/window-bar";

const PAGE = 200;
const NOBODY: ReadonlySet<string> = new Set();

/** What is counted against keys. Keys can name people: they are masked until somebody who may asks for them. */
export function RatesPage() {
  const { query } = usePlace();
  const [after, text] = [query.get("after") ?? undefined, query.get("text") ?? ""];
  const reveal = query.get("reveal") === "true" || undefined;
  const lacking = useLacking("admin");
  const load = () => get<Keys>("/v1/keys", { after, most: PAGE, reveal });
  const { data, trouble, refresh } = useLive(`keys ${after} ${reveal}`, load, { gapMs: 1_000 });
  const fits = (key: Key) => !text || `${key.task} ${key.key}`.toLowerCase().includes(text.toLowerCase());
  return (
    <section class="page">
      <div class="title">
        <h1>Rates</h1>
        <span class="faint">keys that are counted, or in flight</span>
        <span class="spring" />
        <CopyCli words={["rates", "list"]} />
        <button type="button" aria-pressed={!!reveal} disabled={!!lacking} title={lacking ?? ""} onClick={() => ask({ reveal: reveal ? undefined : "true" })}>
          {reveal ? "Mask keys" : "Show whole keys"}
          {lacking ? <span class="unseen">, {lacking}</span> : null}
        </button>
      </div>
      <div class="filters">
        <input type="search" aria-label="Filter by task or key" placeholder="Filter by task or key" value={text}
          onInput={(event) => ask({ text: event.currentTarget.value }, { replace: true })} />
        <LookUp />
      </div>
      {!data ? (trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />) : <Table keys={data.keys.filter(fits)} of={data.keys.length} isWhole={!!reveal} />}
      {data && (data.next || after) ? (
        <nav class="pages" aria-label="Pages">
          <button type="button" disabled={!after} onClick={() => ask({ after: undefined })}>← First</button>
          <span>filters look at this page</span>
          <button type="button" disabled={!data.next} onClick={() => ask({ after: data.next ?? undefined })}>Next →</button>
        </nav>
      ) : null}
      <PreviewBox />
    </section>
  );
}

/** Whoever knows a key may look at it. */
function LookUp() {
  const [task, setTask] = useState("");
  const [key, setKey] = useState("");
  const open = (event: Event) => {
    event.preventDefault();
    if (task.trim() && key.trim()) go(path("rates", task.trim(), key.trim()));
  };
  return (
    <form class="row" onSubmit={open}>
      <input type="text" aria-label="Task" placeholder="Task" value={task} onInput={(event) => setTask(event.currentTarget.value)} />
      <input type="text" aria-label="Key" placeholder="Key" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
      <button type="submit" disabled={!task.trim() || !key.trim()}>Look up</button>
    </form>
  );
}

function Table({ keys, of, isWhole }: { keys: Key[]; of: number; isWhole: boolean }) {
  const { isHeld, handlers } = useHeld();
  const named = keys.map((key, at) => ({ ...key, id: isWhole ? `${key.task} ${key.key}` : `${at}` }));
  const { rows } = useSteady(named, (key) => key.id, isHeld, NOBODY);
  if (of === 0) return <Empty title="Nothing is counted"><p>A key is listed from its first hit to the end of its window.</p></Empty>;
  if (rows.length === 0) return <Empty title="No key fits the filter"><button type="button" onClick={() => ask({ text: undefined })}>Clear the filter</button></Empty>;
  return (
    <div class="table-box">
      <table class="stacking">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">Key</th>
            <th scope="col" class="num">Used</th>
            <th scope="col">Window</th>
            <th scope="col" class="num">Fresh again</th>
            <th scope="col" class="num">In flight</th>
          </tr>
        </thead>
        <tbody {...handlers}>
          {rows.map(({ id, row, isGone }) => (
            <Row key={id} isGone={isGone} {...(isWhole ? { to: path("rates", row.task, row.key) } : {})}>
              <th scope="row" data-name="Task"><Text mono>{row.task}</Text></th>
              <Cell name="Key">
                {isWhole ? <Link to={path("rates", row.task, row.key)} data-open><Text mono>{row.key}</Text></Link> : <Text mono>{row.key}</Text>}
              </Cell>
              <Cell name="Used" num>{row.window ? <b>{number(row.window.used)}</b> : <Nil />}</Cell>
              <Cell name="Window">{row.window ? <WindowBar window={row.window} /> : <span class="faint">none runs</span>}</Cell>
              <Cell name="Fresh again" num>{row.window ? <Until at={row.window.ends_at} /> : <Nil />}</Cell>
              <Cell name="In flight" num>{row.in_flight > 0 ? number(row.in_flight) : <Nil />}</Cell>
            </Row>
          ))}
        </tbody>
      </table>
    </div>
  );
}
