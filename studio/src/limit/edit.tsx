import { useEffect, useState } from "preact/hooks";
import { Trouble, call, get, newId } from "../api/client";
import type { LimitInfo, Preview } from "../api/types";
import { duration, parseDuration } from "../core/format";
import { CopyCli, Failed, cli, Copy } from "../parts/basics";
import { Dialog, Why } from "../parts/dialog";
import { say } from "../parts/said";

interface Props {
  limit: LimitInfo;
  onClose: () => void;
  onDone: () => void;
}

/** Overrides capacity and max hold, each on its own, and says before what it will do. */
export function EditDialog({ limit, onClose, onDone }: Props) {
  const [begun, setBegun] = useState(limit);
  const [capacity, setCapacity] = useState(String(limit.capacity));
  const [maxHold, setMaxHold] = useState(duration(limit.max_hold_ms));
  const [why, setWhy] = useState("");
  const [trouble, setTrouble] = useState<Trouble>();
  const [isAtWork, setAtWork] = useState(false);
  const changes = changesOf(begun, capacity.trim(), maxHold.trim());
  const { preview, refused } = usePreview(limit.limit, changes);
  // What was saved here makes the limit another one, too.
  const conflict = isAtWork ? "" : conflictOf(begun, limit);
  const save = async () => {
    setAtWork(true);
    setTrouble(undefined);
    try {
      let { tag } = begun;
      for (const { field, value } of changes) ({ tag } = await set(limit.limit, field, value, { why, tag }));
      say(`Saved. ${preview?.effects.join(" ") ?? ""}`);
      onDone();
    } catch (error) {
      setTrouble(error as Trouble);
      setAtWork(false);
    }
  };
  const words = changes.map(({ field, value }) => ["limits", field, limit.limit, value, ...(why ? ["--reason", why] : [])]);
  return (
    <Dialog title={`Edit ${limit.limit}`} onClose={onClose}>
      <div class="stack">
        <Field title="Capacity" value={capacity} onInput={setCapacity} first
          declared={String(begun.declared_capacity)} isOverridden={typeof begun.capacity_override === "number"}
          help="How many places at once: 1 to 100000." />
        <Field title="Max hold" value={maxHold} onInput={setMaxHold}
          declared={duration(begun.declared_max_hold_ms)} isOverridden={typeof begun.max_hold_override_ms === "number"}
          help="When a slot is taken back at the latest: 45m, 1h30m, 90s or milliseconds, up to 30d." />
        {conflict ? (
          <p class="warn" role="alert">
            It was changed meanwhile: {conflict}.{" "}
            <button type="button" onClick={() => (setBegun(limit), setCapacity(String(limit.capacity)), setMaxHold(duration(limit.max_hold_ms)))}>
              Take the new values
            </button>
          </p>
        ) : null}
        <Effects preview={changes.length > 0 ? preview : undefined} refused={refused} />
        <Why value={why} onInput={setWhy} />
        {trouble ? <Failed trouble={trouble} /> : null}
        <div class="row end">
          {words.length === 1 ? <CopyCli words={words[0]!} /> : null}
          {words.length === 2 ? <Copy text={words.map((line) => cli(...line)).join("\n")} what="Copy the command lines">Copy as CLI</Copy> : null}
          <span class="spring" />
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="button" class="primary" disabled={isAtWork || changes.length === 0 || !!refused || !!conflict} onClick={save}>
            Save
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface Change {
  field: "capacity" | "max-hold";
  /** As it is asked for; `reset` goes back to what is declared. */
  value: string;
}

/** What was typed and is not so already. The declared value, typed or chosen, ends an override. */
function changesOf(limit: LimitInfo, capacity: string, maxHold: string): Change[] {
  const changes: Change[] = [];
  if (capacity !== String(limit.capacity)) {
    const isReset = capacity === String(limit.declared_capacity);
    changes.push({ field: "capacity", value: isReset ? "reset" : capacity });
  }
  if (parseDuration(maxHold) !== limit.max_hold_ms) {
    const isReset = parseDuration(maxHold) === limit.declared_max_hold_ms;
    changes.push({ field: "max-hold", value: isReset ? "reset" : maxHold });
  }
  return changes;
}

function conflictOf(before: LimitInfo, now: LimitInfo): string {
  const parts = [];
  if (before.capacity !== now.capacity) parts.push(`capacity from ${before.capacity} to ${now.capacity}`);
  if (before.max_hold_ms !== now.max_hold_ms) parts.push(`max hold from ${duration(before.max_hold_ms)} to ${duration(now.max_hold_ms)}`);
  return parts.join(", ");
}

/** The server refuses it if the limit has another tag by then. Answers the limit with its new one. */
async function set(limit: string, field: Change["field"], value: string, asked: { why: string; tag: string | undefined }): Promise<LimitInfo> {
  const path = `/v1/limits/${encodeURIComponent(limit)}/${field}`;
  const { why, tag = "" } = asked;
  const id = newId();
  if (value === "reset") return call("DELETE", path, { why, tag, id });
  return call("PUT", path, { why, tag, id, body: { [field.replace("-", "_")]: value } });
}

const PAUSE_MS = 200;

/** Asks the server what the change would do, a moment after the last letter. */
function usePreview(limit: string, changes: Change[]) {
  const [seen, setSeen] = useState<{ preview?: Preview; refused?: string }>({});
  const of = (field: Change["field"]) => changes.find((change) => change.field === field)?.value;
  const [capacity, maxHold] = [of("capacity"), of("max-hold")];
  useEffect(() => {
    if (capacity === undefined && maxHold === undefined) return setSeen({});
    const left = new AbortController();
    const look = () =>
      get<Preview>(`/v1/limits/${encodeURIComponent(limit)}/preview`, { capacity, max_hold: maxHold }, left.signal).then(
        (preview) => setSeen({ preview }),
        (error) => left.signal.aborted || setSeen({ refused: (error as Trouble).message }),
      );
    const timer = setTimeout(look, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [limit, capacity, maxHold]);
  return seen;
}

function Effects({ preview, refused }: { preview: Preview | undefined; refused: string | undefined }) {
  return (
    <div class="effects" role="status">
      {refused ? <p class="warn">{refused}</p> : null}
      {!refused && preview ? preview.effects.map((effect) => <p key={effect}>{effect}</p>) : null}
      {!refused && !preview ? <p class="faint">Change a value to see what it does.</p> : null}
    </div>
  );
}

interface FieldProps {
  title: string;
  value: string;
  declared: string;
  isOverridden: boolean;
  help: string;
  first?: boolean;
  onInput: (text: string) => void;
}

function Field({ title, value, declared, isOverridden, help, first, onInput }: FieldProps) {
  return (
    <div class="field">
      <label>
        <span>{title}</span>
        <input type="text" inputMode={first ? "numeric" : "text"} value={value} spellcheck={false} autocomplete="off"
          {...(first ? { "data-first": true } : {})} onInput={(event) => onInput(event.currentTarget.value)} />
      </label>
      <p class="faint">
        {help} Declared: <b>{declared}</b>.{" "}
        <button type="button" class="link" disabled={!isOverridden} title={isOverridden ? "" : "not overridden"} onClick={() => onInput(declared)}>
          {isOverridden ? "Back to what is declared" : "Not overridden"}
        </button>
      </p>
    </div>
  );
}
