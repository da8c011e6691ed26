import { get } from "../api/client";
import type { History, RunAnswer, Slot } from "../api/types";
import { useLive } from "../core/live";
import { Link } from "../core/router";
import { EndedTable } from "../limit/ended";
import { ReleaseDialog } from "../limit/release";
import { ReleaseMany } from "../limit/release-many";
import { Expiry, SlotId, StateMark } from "../limit/slots";
import { Act, Ago, At, Copy, CopyCli, Empty, Failed, Skeleton, Text, Until } from "../parts/basics";
import { useDialog } from "../parts/dialog";
import { Mark } from "../parts/icons";

type Seen = RunAnswer & { history: History | undefined };

async function load(run: string): Promise<Seen> {
  const [answer, history] = await Promise.all([
    get<RunAnswer>(`/v1/runs/${encodeURIComponent(run)}`),
    get<History>("/v1/history", { run, most: 50 }).catch(() => undefined),
  ]);
  return { ...answer, history };
}

const isHeld = (slot: Slot) => slot.state === "busy" || slot.state === "reserved";

/** What a run holds and waits for, and what it held before. */
export function RunPage({ run }: { run: string }) {
  const { data, trouble, refresh } = useLive(`run ${run}`, () => load(run), { gapMs: 500 });
  const { asked, ask, ends } = useDialog<Slot | "all">(refresh);
  if (!data) return trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />;
  const held = data.slots.filter(isHeld);
  return (
    <section class="page">
      <nav class="crumbs" aria-label="You are here"><Link to="/runs">Runs</Link></nav>
      <div class="title">
        <h1><Text mono>{run}</Text></h1>
        <Copy text={run} what="Copy the run's id" />
        <span class="spring" />
        <CopyCli words={["runs", "show", run]} />
        {held.length > 1 ? <Act act="release-all" kind="danger" onClick={() => ask("all")}>Release all {held.length}…</Act> : null}
      </div>
      <h2>Steps</h2>
      {data.slots.length === 0 ? (
        <Empty title="It holds no slot and waits for none" />
      ) : (
        <ol class="steps">
          {data.slots.map((slot) => (
            <li key={slot.slot} class={slot.state}>
              <div class="row">
                <StateMark slot={slot} />
                <b>{slot.state === "queued" ? `Esperando hueco · ${names(slot)}` : names(slot)}</b>
                {slot.label ? <Text>{slot.label}</Text> : null}
                <span class="spring" />
                {isHeld(slot) ? <Act act="release" onClick={() => ask(slot)}>Release</Act> : null}
              </div>
              <p class="faint">
                asked {slot.asked_at ? <At at={slot.asked_at} /> : "–"}
                {slot.granted_at ? <> · granted <At at={slot.granted_at} /></> : null}
                {slot.state === "queued" && slot.queued_at ? <> · place {slot.place}, for <Ago at={slot.queued_at} />, gives up {slot.gives_up_at ? <Until at={slot.gives_up_at} /> : "–"}</> : null}
                {" · "}<SlotId slot={slot} limit={slot.limits?.[0]?.limit ?? "-"} />
              </p>
              {isHeld(slot) ? <Expiry slot={slot} /> : null}
              {slot.run_ended_at ? <Mark kind="orphan">run ended, still holding</Mark> : null}
            </li>
          ))}
        </ol>
      )}
      {data.places.length > 0 ? (
        <>
          <h2>Places in flight</h2>
          <ul class="plain">
            {data.places.map((place) => (
              <li key={place.task + place.key}><Text mono>{place.task}</Text> <Text mono>{place.key}</Text> <span class="faint">until <At at={place.expires_at} /> at the latest</span></li>
            ))}
          </ul>
        </>
      ) : null}
      <h2>Ended</h2>
      {data.history ? <EndedTable ends={data.history.ends} hasLimit /> : <Empty title="This server keeps no history" />}
      {asked === "all" ? <ReleaseMany title={`Release all ${held.length} slots of this run?`} slots={held} {...ends} /> : null}
      {asked && asked !== "all" ? <ReleaseDialog slot={asked} {...ends} /> : null}
    </section>
  );
}

const names = (slot: Slot): string => (slot.limits ?? []).map(({ limit }) => limit).join(" + ");
