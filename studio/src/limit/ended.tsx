import type { Ended } from "../api/types";
import { short, span } from "../core/format";
import { Link, path } from "../core/router";
import { At, Copy, Empty, Nil, Text } from "../parts/basics";
import { Cell, Row } from "../parts/table";

const WORDS: Record<string, string> = {
  released: "released",
  expired: "taken back at max hold",
  timed_out: "gave up waiting",
  left: "left the queue",
  run_ended: "ended with its run",
};

/** How slots ended, newest first: by whom, why, and how long they had waited and held. */
export function EndedTable({ ends, hasLimit }: { ends: Ended[]; hasLimit?: boolean }) {
  if (ends.length === 0) return <Empty title="Nothing has ended yet" />;
  return (
    <div class="table-box">
      <table class="stacking">
        <caption class="unseen">Slots that ended, newest first</caption>
        <thead>
          <tr>
            <th scope="col" class="num">Ended</th>
            <th scope="col">How</th>
            <th scope="col">Run and label</th>
            <th scope="col" class="num">Waited</th>
            <th scope="col" class="num">Held</th>
            <th scope="col">By</th>
            <th scope="col">Reason</th>
            <th scope="col">Slot</th>
          </tr>
        </thead>
        <tbody>
          {ends.map((end) => (
            <Row key={`${end.slot} ${end.revision}`} to={path("limits", end.limits[0]!.limit, "slots", end.slot)}>
              <Cell name="Ended" num><At at={end.ended_at} /></Cell>
              <Cell name="How"><span class={end.state === "expired" || end.state === "timed_out" ? "warn" : ""}>{WORDS[end.state] ?? end.state}</span></Cell>
              <Cell name="Run and label">
                <span class="who">
                  {end.label ? <Text>{end.label}</Text> : null}
                  {end.run ? <Link to={path("runs", end.run)} class="run"><Text mono>{end.run}</Text></Link> : null}
                  {hasLimit ? <span class="faint">{end.limits.map(({ limit }) => limit).join(" + ")}</span> : null}
                </span>
              </Cell>
              <Cell name="Waited" num>{span(end.waited_ms)}</Cell>
              <Cell name="Held" num>{typeof end.held_ms === "number" ? span(end.held_ms) : "–"}</Cell>
              <Cell name="By">{end.by ? <Text>{end.by}</Text> : <Nil />}</Cell>
              <Cell name="Reason">{end.reason ? <Text>{end.reason}</Text> : <Nil />}</Cell>
              <Cell name="Slot">
                <span class="slot-id">
                  <Link to={path("limits", end.limits[0]!.limit, "slots", end.slot)} data-open class="mono" title={end.slot}>{short(end.slot)}</Link>
                  <Copy text={end.slot} what="Copy the slot's id" />
                </span>
              </Cell>
            </Row>
          ))}
        </tbody>
      </table>
    </div>
  );
}
