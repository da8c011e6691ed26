import { useState } from "preact/hooks";
import { call, get, newId, Trouble } from "../api/client";
import type { History, Released, RunAnswer, Slot } from "../api/types";
import { count } from "../core/format";
import { useLive } from "../core/live";
import { Link } from "../core/router";
import { EndedTable } from "../limit/ended";
import { ReleaseDialog } from "../limit/release";
import { Expiry, SlotId, StateMark } from "../limit/slots";
import { Act, Ago, At, Copy, CopyCli, Empty, Failed, Skeleton, Text, Until } from "../parts/basics";
import { Dialog, useDialog, Why } from "../parts/dialog";
import { Mark } from "../parts/icons";
import { say } from "../parts/said";

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
      {asked === "all" ? <ReleaseAll slots={held} {...ends} /> : null}
      {asked && asked !== "all" ? <ReleaseDialog slot={asked} {...ends} /> : null}
    </section>
  );
}

const names = (slot: Slot): string => (slot.limits ?? []).map(({ limit }) => limit).join(" + ");

/** Releases everything the run holds, one by one, and says what came of each. */
function ReleaseAll({ slots, onClose, onDone }: { slots: Slot[]; onClose: () => void; onDone: () => void }) {
  const [why, setWhy] = useState("");
  const [ids] = useState(() => slots.map(newId));
  const [told, setTold] = useState<string[]>([]);
  const release = async () => {
    const results = await Promise.all(slots.map((slot, at) => one(slot.slot, why, ids[at]!)));
    setTold(results.map((result, at) => `${names(slots[at]!)}: ${result.words}`));
    if (results.some((result) => result.isFailed)) return;
    const released = results.filter((result) => result.isReleased).length;
    say(`Released ${released} of ${count(slots.length, "slot")}.`);
    onDone();
  };
  return (
    <Dialog title={`Release all ${slots.length} slots of this run?`} onClose={onClose}>
      <p>Each goes to whoever is next in its limit. <strong>The work itself is not stopped.</strong></p>
      <ul class="plain">
        {slots.map((slot) => <li key={slot.slot}><StateMark slot={slot} /> {names(slot)} {slot.label ? <Text>{slot.label}</Text> : null}</li>)}
      </ul>
      <Why value={why} onInput={setWhy} />
      {told.length > 0 ? <ul class="plain warn" role="alert">{told.map((text) => <li key={text}>{text}</li>)}</ul> : null}
      <div class="row end">
        <button type="button" data-first onClick={onClose}>Keep</button>
        <button type="button" class="danger" onClick={release}>Release {slots.length} slots</button>
      </div>
    </Dialog>
  );
}

async function one(slot: string, why: string, id: string) {
  try {
    const answer = await call<Released>("POST", `/v1/slots/${encodeURIComponent(slot)}/release`, { why, id });
    return { isReleased: answer.released, isFailed: false, words: answer.released ? "released" : `was ${answer.state} already` };
  } catch (error) {
    return { isReleased: false, isFailed: true, words: error instanceof Trouble ? error.message : String(error) };
  }
}
