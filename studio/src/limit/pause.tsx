import { useState } from "preact/hooks";
import { call, newId, type Trouble } from "../api/client";
import type { LimitInfo } from "../api/types";
import { count } from "../core/format";
import { CopyCli, Failed } from "../parts/basics";
import { Dialog, Why } from "../parts/dialog";
import { say } from "../parts/said";

/** Stops and starts the granting of places; what is held goes on either way. */
export function PauseDialog({ limit, onClose, onDone }: { limit: LimitInfo; onClose: () => void; onDone: () => void }) {
  const [why, setWhy] = useState("");
  const [id] = useState(newId);
  const [trouble, setTrouble] = useState<Trouble>();
  const verb = limit.paused ? "Resume" : "Pause";
  const turn = async () => {
    try {
      const path = `/v1/limits/${encodeURIComponent(limit.limit)}/pause`;
      await call(limit.paused ? "DELETE" : "PUT", path, { why, id });
      say(limit.paused ? "Resumed: places are granted again." : "Paused: nothing is granted until it is resumed.");
      onDone();
    } catch (error) {
      setTrouble(error as Trouble);
    }
  };
  const held = limit.busy_slots + limit.reserved_slots;
  return (
    <Dialog title={`${verb} ${limit.limit}?`} onClose={onClose}>
      {limit.paused ? (
        <p>Places are granted again, to those who wait first: {count(limit.waiting, "slot waits", "slots wait")}.</p>
      ) : (
        <p>
          Nothing more is granted until somebody resumes it; no deploy and no restart does. {count(held, "slot that is", "slots that are")} held
          go{held === 1 ? "es" : ""} on to the end, and those who wait go on waiting, within their time.
        </p>
      )}
      <Why value={why} onInput={setWhy} />
      {trouble ? <Failed trouble={trouble} /> : null}
      <div class="row end">
        <CopyCli words={["limits", verb.toLowerCase(), limit.limit, ...(why ? ["--reason", why] : [])]} />
        <span class="spring" />
        <button type="button" data-first onClick={onClose}>Cancel</button>
        <button type="button" class={limit.paused ? "primary" : "danger"} onClick={turn}>{verb}</button>
      </div>
    </Dialog>
  );
}
