import { useState } from "preact/hooks";
import type { LimitInfo, Slot } from "../api/types";
import { count, short, span } from "../core/format";
import { useNow } from "../core/live";
import { Link, path } from "../core/router";
import { useHeld, useSteady } from "../core/steady";
import { Act, Ago, At, Copy, Empty, Exact, Nil, Text, Until, useLacking } from "../parts/basics";
import { useDialog } from "../parts/dialog";
import { Mark } from "../parts/icons";
import { Cell, Row } from "../parts/table";
import { ReleaseDialog } from "./release";
import { ReleaseMany } from "./release-many";

interface Props {
  limit: LimitInfo;
  holders: Slot[];
  queue: Slot[];
  refresh: () => Promise<void>;
}

/** Who holds: busy ones in the order of their grants, then reserved ones; each can be released, and so can a selection. */
export function Holders({ limit, holders, queue, refresh }: Props) {
  const { isHeld, handlers } = useHeld();
  const [released, setReleased] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { asked, ask, ends } = useDialog<Slot | Slot[]>(refresh);
  const { rows, waiting } = useSteady(holders, (slot) => slot.slot, isHeld, released);
  const done = (slots: string[]) => {
    setReleased(new Set([...released, ...slots]));
    setChosen(new Set());
    ends.onDone();
  };
  const lacking = useLacking("operate");
  const selected = holders.filter(({ slot }) => chosen.has(slot));
  const turn = (slots: Slot[], isOn: boolean) => {
    const next = new Set(chosen);
    for (const { slot } of slots) isOn ? next.add(slot) : next.delete(slot);
    setChosen(next);
  };
  if (rows.length === 0) return <Empty title="Nobody holds a slot" />;
  return (
    <div class="table-box">
      {selected.length > 0 ? (
        <p class="chosen row">
          <span role="status">{selected.length} selected</span>
          <span class="spring" />
          <button type="button" class="quiet" onClick={() => setChosen(new Set())}>Select none</button>
          <Act act="release-chosen" kind="danger" onClick={() => ask(selected)}>Release {count(selected.length, "slot")}…</Act>
        </p>
      ) : null}
      <table class="stacking">
        <caption class="unseen">Slots that are held, busy ones first</caption>
        <thead>
          <tr>
            <th scope="col" class="pick">
              <Pick what="Select all" isOn={selected.length === holders.length && holders.length > 0} off={lacking} onTurn={(isOn) => turn(holders, isOn)} />
            </th>
            <th scope="col">State</th>
            <th scope="col">Run and label</th>
            <th scope="col" class="num">Held for</th>
            <th scope="col">Expires</th>
            <th scope="col" class="num">Waited</th>
            <th scope="col">Slot</th>
            <th scope="col"><span class="unseen">Release</span></th>
          </tr>
        </thead>
        <tbody {...handlers}>
          {rows.map(({ id, row, isGone }) => (
            <Row key={id} isGone={isGone} to={path("limits", limit.limit, "slots", id)}>
              <Cell name="Select" class="pick">
                <Pick what={`Select the slot of ${row.label ?? row.run ?? id}`} isOn={chosen.has(id) && !isGone} off={isGone ? "it has ended" : lacking} onTurn={(isOn) => turn([row], isOn)} />
              </Cell>
              <Cell name="State">
                <StateMark slot={row} />
              </Cell>
              <Cell name="Run and label">
                <Who slot={row} />
              </Cell>
              <Cell name="Held for" num><Since at={row.granted_at} /></Cell>
              <Cell name="Expires"><Expiry slot={row} /></Cell>
              <Cell name="Waited" num>{row.granted_at && row.asked_at ? span(row.granted_at - row.asked_at) : "–"}</Cell>
              <Cell name="Slot"><SlotId slot={row} limit={limit.limit} /></Cell>
              <Cell name="" class="acts">
                {isGone ? (
                  <span class="faint">{released.has(id) ? "released" : "ended"}</span>
                ) : (
                  <Act act="release" onClick={() => ask(row)}>
                    Release<span class="unseen"> slot of {row.label ?? row.run ?? id}</span>
                  </Act>
                )}
              </Cell>
            </Row>
          ))}
        </tbody>
      </table>
      {isHeld && waiting > 0 ? <p class="held">{waiting} more will come when you point elsewhere.</p> : null}
      {Array.isArray(asked) ? <ReleaseMany title={`Release ${count(asked.length, "slot")} of ${limit.limit}?`} typed={limit.limit} slots={asked} onClose={ends.onClose} onDone={done} /> : null}
      {asked && !Array.isArray(asked) ? <ReleaseDialog slot={asked} limit={limit} queue={queue} onClose={ends.onClose} onDone={(slot) => done([slot])} /> : null}
    </div>
  );
}

interface PickProps {
  what: string;
  isOn: boolean;
  off: string | undefined;
  onTurn: (isOn: boolean) => void;
}

function Pick({ what, isOn, off, onTurn }: PickProps) {
  return <input type="checkbox" aria-label={off ? `${what}, ${off}` : what} title={off ?? ""} checked={isOn} disabled={!!off} onChange={(event) => onTurn(event.currentTarget.checked)} />;
}

export function StateMark({ slot }: { slot: Slot }) {
  return (
    <span class={`state ${slot.state}`}>
      <i aria-hidden="true" />
      {slot.state.replace("_", " ")}
    </span>
  );
}

/** How long ago; where there is room also when. */
function Since({ at }: { at: number | null | undefined }) {
  if (!at) return <Nil />;
  return (
    <span class="since-pair">
      <Ago at={at} />
      <span class="faint since"><At at={at} /></span>
    </span>
  );
}

/** Whose it is. Labels and ids are shown as text, whatever is in them. */
export function Who({ slot }: { slot: Slot }) {
  const now = useNow();
  return (
    <span class="who">
      {slot.label ? <Text>{slot.label}</Text> : null}
      {slot.run ? (
        <Link to={path("runs", slot.run)} class="run">
          <Text mono>{slot.run}</Text>
        </Link>
      ) : (
        <span class="faint">no run</span>
      )}
      {slot.workflow ? <span class="faint"><Text>{slot.workflow}</Text></span> : null}
      {slot.run_ended_at ? <Mark kind="orphan">{`run ended ${span(now - slot.run_ended_at)} ago, still holding`}</Mark> : null}
      <Shares slot={slot} />
    </span>
  );
}

/** What it takes, where that is more than one place of one limit. */
function Shares({ slot }: { slot: Slot }) {
  const shares = slot.limits ?? [];
  if (shares.length < 2 && (shares[0]?.weight ?? 1) === 1) return null;
  return <span class="faint">{shares.map(({ limit, weight }) => (weight === 1 ? limit : `${limit} × ${weight}`)).join(" + ")}</span>;
}

/** How much of its time is over; the last tenth in red, and said. A reserved one has until it lapses. */
export function Expiry({ slot }: { slot: Slot }) {
  const now = useNow();
  const isReserved = slot.state === "reserved" && !!slot.lapses_at;
  const end = isReserved ? slot.lapses_at : slot.expires_at;
  if (!end || !slot.granted_at) return <span class="faint">–</span>;
  const left = Math.max(0, end - now);
  const whole = end - slot.granted_at;
  const isLast = left < whole / 10;
  return (
    <span class={isLast ? "expiry last" : "expiry"}>
      <span class="track" aria-hidden="true">
        <i style={{ width: `${whole > 0 ? 100 - (left / whole) * 100 : 100}%` }} />
      </span>
      <Exact at={end}>{isReserved ? "lapses " : ""}{left === 0 ? "now" : `in ${span(left)}`}</Exact>
    </span>
  );
}

export function SlotId({ slot, limit }: { slot: Slot; limit: string }) {
  return (
    <span class="slot-id">
      <Link to={path("limits", limit, "slots", slot.slot)} data-open title={slot.slot} class="mono">
        {short(slot.slot)}
      </Link>
      <Copy text={slot.slot} what="Copy the slot's id" />
    </span>
  );
}

/** Who waits, in the true order. */
export function Queue({ limit, queue, drainsIn }: { limit: LimitInfo; queue: Slot[]; drainsIn: number | null | undefined }) {
  const { isHeld, handlers } = useHeld();
  const { rows, waiting } = useSteady(queue, (slot) => slot.slot, isHeld, NOBODY);
  if (rows.length === 0) return <Empty title="Nobody waits" />;
  return (
    <div class="table-box">
      <table class="stacking">
        <caption class="unseen">The queue, in order</caption>
        <thead>
          <tr>
            <th scope="col" class="num">Place</th>
            <th scope="col">Run and label</th>
            <th scope="col" class="num">Waiting for</th>
            <th scope="col" class="num">Gives up</th>
            <th scope="col">Note</th>
            <th scope="col">Slot</th>
          </tr>
        </thead>
        <tbody {...handlers}>
          {rows.map(({ id, row, isGone }, at) => (
            <Row key={id} isGone={isGone} to={path("limits", limit.limit, "slots", id)}>
              <Cell name="Place" num><b>{isGone ? "–" : at + 1}</b></Cell>
              <Cell name="Run and label"><Who slot={row} /></Cell>
              <Cell name="Waiting for" num><Since at={row.queued_at} /></Cell>
              <Cell name="Gives up" num>{row.gives_up_at ? <Until at={row.gives_up_at} /> : "–"}</Cell>
              <Cell name="Note">{row.laps ? <span class="warn">back to the end {row.laps === 1 ? "once" : `${row.laps} times`}: not confirmed in time</span> : <Nil />}</Cell>
              <Cell name="Slot"><SlotId slot={row} limit={limit.limit} /></Cell>
            </Row>
          ))}
        </tbody>
      </table>
      {limit.waiting > queue.length ? <p class="held">The first {queue.length} of {limit.waiting}.</p> : null}
      {drainsIn ? <p class="held">At the pace of the last 10 minutes the queue is empty in about {span(drainsIn)}, if nobody joins.</p> : null}
      {isHeld && waiting > 0 ? <p class="held">{waiting} more will come when you point elsewhere.</p> : null}
    </div>
  );
}

const NOBODY: ReadonlySet<string> = new Set();
