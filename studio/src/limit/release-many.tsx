import { useState } from "preact/hooks";
import { type Trouble, call, newId } from "../api/client";
import type { Released, Slot } from "../api/types";
import { count } from "../core/format";
import { Text } from "../parts/basics";
import { Dialog, Why } from "../parts/dialog";
import { say } from "../parts/said";
import { BY_HAND } from "./release";
import { StateMark } from "./slots";

interface Props {
  title: string;
  slots: Slot[];
  /** What has to be typed before it goes on. */
  typed?: string;
  onClose: () => void;
  onDone: (released: string[]) => void;
}

interface Told {
  kind: "released" | "nothing" | "failed";
  words: string;
}

/** Releases many slots for one reason, and says of each what came of it. What failed can be tried again. */
export function ReleaseMany({ title, slots, typed, onClose, onDone }: Props) {
  const [why, setWhy] = useState("");
  const [name, setName] = useState("");
  const [ids] = useState(() => new Map(slots.map(({ slot }) => [slot, newId()])));
  const [told, setTold] = useState<ReadonlyMap<string, Told>>(new Map());
  const [isAtWork, setAtWork] = useState(false);
  const left = slots.filter(({ slot }) => !told.has(slot) || told.get(slot)!.kind === "failed");
  const released = (of: ReadonlyMap<string, Told>) => [...of].filter(([, { kind }]) => kind === "released").map(([slot]) => slot);
  const atWork = left.filter(({ run_ended_at }) => !run_ended_at).length;
  const isOver = told.size > 0 && left.length === 0;
  const release = async () => {
    setAtWork(true);
    const results = await Promise.all(left.map(async ({ slot }) => [slot, await one(slot, why || BY_HAND, ids.get(slot)!)] as const));
    const all = new Map([...told, ...results]);
    setTold(all);
    setAtWork(false);
    say(`Released ${released(all).length} of ${count(slots.length, "slot")}.`);
    if (released(all).length === slots.length) onDone(released(all));
  };
  return (
    <Dialog title={title} onClose={isOver ? () => onDone(released(told)) : onClose}>
      <p>
        Each goes to whoever is next in its limit. <strong>The work itself is not stopped.</strong>
      </p>
      <ul class="plain many" aria-label="Slots">
        {slots.map((slot) => (
          <li key={slot.slot}>
            <StateMark slot={slot} /> {named(slot)}
            {told.has(slot.slot) ? <b class={told.get(slot.slot)!.kind === "released" ? "" : "warn"}> {told.get(slot.slot)!.words}</b> : null}
          </li>
        ))}
      </ul>
      {atWork > 0 ? <p class="warn">{atWork === left.length ? "Their runs have" : `The runs of ${atWork} have`} not ended, as far as is known here: they may still be at work.</p> : null}
      {isOver ? null : <Why value={why} onInput={setWhy} />}
      {typed && !isOver ? (
        <label class="field">
          <span>To go on, type the limit's name: {typed}</span>
          <input type="text" value={name} spellcheck={false} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
        </label>
      ) : null}
      <div class="row end">
        <button type="button" data-first onClick={isOver ? () => onDone(released(told)) : onClose}>
          {isOver ? "Close" : "Keep"}
        </button>
        {isOver ? null : (
          <button type="button" class="danger" disabled={isAtWork || (!!typed && name !== typed)} onClick={release}>
            {told.size > 0 ? "Try again: " : ""}Release {count(left.length, "slot")}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function named({ slot, label, run, limits }: Slot) {
  return (
    <>
      {(limits ?? []).map(({ limit }) => limit).join(" + ")} <Text>{label ?? run ?? slot}</Text>
    </>
  );
}

async function one(slot: string, why: string, id: string): Promise<Told> {
  try {
    const answer = await call<Released>("POST", `/v1/slots/${encodeURIComponent(slot)}/release`, { why, id });
    return answer.released ? { kind: "released", words: "released" } : { kind: "nothing", words: `was ${answer.state.replace("_", " ")} already` };
  } catch (error) {
    return { kind: "failed", words: `not released: ${(error as Trouble).message}` };
  }
}
