import { get, me, send } from "../api/client";
import type { History, Nodes, Ready } from "../api/types";
import { number, span } from "../core/format";
import { serverNow, useLive } from "../core/live";
import { useStore } from "../core/store";
import { Ago, At, CopyCli, Fact, Failed, Skeleton, Text } from "../parts/basics";
import { Icon } from "../parts/icons";
import { Cell, Row } from "../parts/table";

interface Seen {
  ready: Ready;
  reach: History["reach"] | undefined;
  nodes: Nodes | undefined;
  metrics: Map<string, number>;
  clockOff: number;
  as_of: number;
  revision: number;
}

/** One look at the machine itself: does it take calls, how full is it, how far back does it remember. */
async function load(): Promise<Seen> {
  const asked = Date.now();
  const [ready, history, nodes, metrics] = await Promise.all([
    readiness(),
    get<History>("/v1/history", { most: 1 }).catch(() => undefined),
    get<Nodes>("/v1/nodes").catch(() => undefined),
    numbers(),
  ]);
  return { ready, reach: history?.reach, nodes, metrics, clockOff: ready.as_of - asked, as_of: ready.as_of || serverNow(), revision: ready.revision };
}

/** A server that is not ready says why with status 503. */
async function readiness(): Promise<Ready> {
  const response = await send("GET", "/readyz", {});
  return (await response.json()) as Ready;
}

/** The numbers without labels, by name. */
async function numbers(): Promise<Map<string, number>> {
  const response = await send("GET", "/metrics", {});
  const lines = response.ok ? (await response.text()).split("\n") : [];
  const plain = lines.filter((text) => text && !text.startsWith("#") && !text.includes("{"));
  return new Map(plain.map((text) => [text.split(" ")[0]!, Number(text.split(" ")[1])] as const));
}

const CLOCKS_MS = 5_000;
const LAG_MOST = 10_000;

export function HealthPage() {
  const { data, trouble, refresh } = useLive("health", load, { gapMs: 2_000 });
  const known = useStore(me);
  if (!data) return trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />;
  const { ready, reach, nodes, metrics, clockOff } = data;
  const metric = (name: string) => metrics.get(`maitred_${name}`);
  const lag = reach?.lag ?? 0;
  return (
    <section class="page">
      <div class="title">
        <h1>Health</h1>
        <span class="spring" />
        <CopyCli words={["doctor"]} />
      </div>
      <ul class="checks">
        <Check ok={ready.ready} title="Server" text={ready.ready ? `takes calls, at revision ${number(ready.revision)}` : "takes no calls"} />
        {ready.notes.map((note) => <Check key={note} ok={false} title="Note" text={note} />)}
        <Check ok={Math.abs(clockOff) <= CLOCKS_MS} title="Clocks" text={Math.abs(clockOff) <= CLOCKS_MS ? "this browser and the server agree" : `they are ${span(Math.abs(clockOff))} apart; only the server's counts`} />
        <Check ok={!!reach && !reach.trouble && lag <= LAG_MOST} title="History" text={!reach ? "it cannot be opened" : (reach.trouble ? `${reach.trouble}; ${number(lag)} records behind, tried again` : lag > LAG_MOST ? `${number(lag)} records behind` : "keeps up")} />
        <Check ok={(metric("void_records") ?? 0) === 0} title="Journal" text={(metric("void_records") ?? 0) === 0 ? "one writer at a time" : `${metric("void_records")} void records: it let two writers through`} />
      </ul>
      {nodes ? <NodesTable answer={nodes} /> : null}
      <h2>Journal and memory</h2>
      <dl class="facts wide">
        <Fact name="Version">{known?.version ?? "–"}</Fact>
        <Fact name="Revision">{number(ready.revision)}</Fact>
        <Fact name="Ids are remembered since">{ready.horizon > 0 ? <At at={ready.horizon} /> : "the beginning"}</Fact>
        <Fact name="Room for ids with a time"><Fill of={ready.remembered_timed} /></Fact>
        <Fact name="Room for other ids"><Fill of={ready.remembered_other} /></Fact>
        <Fact name="History reaches back to">{reach ? (reach.since > 0 ? <At at={reach.since} /> : "the beginning") : "–"}</Fact>
        <Fact name="History lag">{reach ? `${number(reach.lag)} records` : "–"}</Fact>
      </dl>
      <h2>Now</h2>
      <dl class="facts wide">
        {[["limits", "Limits"], ["slots", "Slots alive"], ["waiting_callers", "Callers on the line"], ["runs", "Runs"], ["rate_windows", "Rate windows"], ["places_in_flight", "Places in flight"], ["http_open_streams", "Open event streams"], ["http_open_connections", "Connections"]].map(([name, title]) => {
          const value = metric(name!);
          return value === undefined ? null : <Fact key={name} name={title!}>{number(value)}</Fact>;
        })}
      </dl>
    </section>
  );
}

/** Who else writes the journal: rules change only when all that live can follow. */
function NodesTable({ answer }: { answer: Nodes }) {
  return (
    <>
      <h2>
        Servers <span class="faint">{answer.shared ? `on one journal, rules ${answer.rules} in force` : `this one alone, rules ${answer.rules} in force`}</span>
      </h2>
      <div class="table-box">
        <table class="stacking">
          <caption class="unseen">Servers on the journal, as this one sees them</caption>
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">State</th>
              <th scope="col">Seen</th>
              <th scope="col" class="num">Rules it can follow</th>
              <th scope="col">Build</th>
            </tr>
          </thead>
          <tbody>
            {answer.nodes.map((node) => (
              <Row key={node.node}>
                <th scope="row" data-name="Server"><Text mono>{node.node}</Text>{node.this ? <span class="faint"> this one</span> : null}</th>
                <Cell name="State"><span class={node.live ? "" : "warn"}>{node.live ? "live" : "silent"}</span></Cell>
                <Cell name="Seen">{node.this ? "now" : node.seen_at ? <Ago at={node.seen_at} word="ago" /> : "never; it holds lines"}</Cell>
                <Cell name="Rules it can follow" num>{node.supports_rules ?? "not known"}</Cell>
                <Cell name="Build">{node.version ?? <span class="faint">ask it</span>}</Cell>
              </Row>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Check({ ok, title, text }: { ok: boolean; title: string; text: string }) {
  return (
    <li class={ok ? "fine" : "bad"}>
      <Icon name={ok ? "ok" : "orphan"} />
      <b>{title}</b> <span class="unseen">{ok ? "fine: " : "trouble: "}</span>
      {text}
    </li>
  );
}

function Fill({ of }: { of: number }) {
  return (
    <span class="expiry">
      <span class="track" aria-hidden="true"><i style={{ width: `${Math.min(1, of) * 100}%` }} /></span>
      {(of * 100).toFixed(of < 0.01 && of > 0 ? 2 : 0)} %
    </span>
  );
}
