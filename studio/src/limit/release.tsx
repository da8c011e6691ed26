import { useState } from "preact/hooks";
import { call, newId, Trouble } from "../api/client";
import type { LimitInfo, Released, Slot } from "../api/types";
import { span } from "../core/format";
import { useNow } from "../core/live";
import { CopyCli, Exact, Fact, Failed, Text } from "../parts/basics";
import { Dialog, Why } from "../parts/dialog";
import { Mark } from "../parts/icons";
import { say } from "../parts/said";

interface Props {
  slot: Slot;
  /** The limit it is looked at in, and the queue there: who is next. */
  limit?: LimitInfo;
  queue?: Slot[];
  onClose: () => void;
  onDone: (slot: string) => void;
}

/** Where no other reason is given: a release with a reason is an operator's, and stands in the audit. */
export const BY_HAND = "by hand";

/** Asks before a slot is released, and says who gets the place. The work itself is not stopped by it. */
export function ReleaseDialog({ slot, limit, queue, onClose, onDone }: Props) {
  const now = useNow();
  const [why, setWhy] = useState("");
  const [id] = useState(newId);
  const [trouble, setTrouble] = useState<Trouble>();
  const [isAtWork, setAtWork] = useState(false);
  const release = async () => {
    setAtWork(true);
    try {
      const answer = await call<Released>("POST", `/v1/slots/${encodeURIComponent(slot.slot)}/release`, { why: why || BY_HAND, id });
      say(answer.released ? `Released. ${queue?.length && limit && goesOn(slot, limit, queue).isGranted ? `Went to ${nameOf(queue[0]!)}.` : "The place is free."}` : `Nothing to do: it was ${answer.state.replace("_", " ")} already.`, answer.released ? "done" : "nothing");
      onDone(slot.slot);
    } catch (error) {
      setTrouble(error as Trouble);
      setAtWork(false);
    }
  };
  return (
    <Dialog title="Release this slot?" onClose={onClose}>
      <dl class="facts">
        <Fact name="Run">{slot.run ? <Text mono>{slot.run}</Text> : "none"}</Fact>
        <Fact name="Label">{slot.label ? <Text>{slot.label}</Text> : "none"}</Fact>
        <Fact name={slot.state === "busy" ? "Held for" : "Reserved for"}>{slot.granted_at ? span(now - slot.granted_at) : "–"}</Fact>
        <Fact name="Expires">{slot.expires_at ? <Exact at={slot.expires_at}>in {span(slot.expires_at - now)}</Exact> : "–"}</Fact>
      </dl>
      {limit && queue ? <p>{goesOn(slot, limit, queue).words}</p> : null}
      {slot.run_ended_at ? (
        <p>
          <Mark kind="orphan">{`Its run ended ${span(now - slot.run_ended_at)} ago.`}</Mark>
        </p>
      ) : (
        <p class="warn">{slot.run ? "Its run has not ended, as far as is known here: it may still be at work." : "It may still be at work."}</p>
      )}
      <p>
        <strong>The work itself is not stopped.</strong>
      </p>
      <Why value={why} onInput={setWhy} />
      {trouble ? <Failed trouble={trouble} /> : null}
      <div class="row end">
        <CopyCli words={["limits", "release", slot.slot, "--yes", ...(why ? ["--reason", why] : [])]} />
        <span class="spring" />
        <button type="button" data-first onClick={onClose}>
          Keep
        </button>
        <button type="button" class="danger" disabled={isAtWork} onClick={release}>
          {trouble ? "Try again" : "Release slot"}
        </button>
      </div>
    </Dialog>
  );
}

const nameOf = (slot: Slot): string => slot.label ?? slot.run ?? slot.slot;

/** Who goes on when this slot is released. Of several limits only this one is known here. */
function goesOn(slot: Slot, limit: LimitInfo, queue: Slot[]): { isGranted: boolean; words: string } {
  const next = queue[0];
  if (!next) return { isGranted: false, words: "Nobody waits: the place will be free." };
  const first = `${nameOf(next)} (first of ${limit.waiting})`;
  if (limit.paused) return { isGranted: false, words: `The limit is paused: ${first} goes on once it is resumed.` };
  const weightOf = (of: Slot) => of.limits?.find((share) => share.limit === limit.limit)?.weight ?? 1;
  const taken = limit.busy + limit.reserved - weightOf(slot);
  if (taken + weightOf(next) > limit.capacity) {
    return { isGranted: false, words: `${first} needs ${weightOf(next)}; after this ${Math.max(0, limit.capacity - taken)} will be free, so it goes on waiting.` };
  }
  if ((next.limits?.length ?? 1) > 1) {
    return { isGranted: false, words: `${first} is next here; it also waits for ${next.limits!.length - 1} other limit${next.limits!.length > 2 ? "s" : ""}.` };
  }
  return { isGranted: true, words: `${first} gets the place.` };
}
