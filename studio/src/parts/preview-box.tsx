import { useState } from "preact/hooks";
import { Trouble, call } from "../api/client";
import type { Decision } from "../api/types";
import { number, span } from "../core/format";
import { useLacking } from "./basics";

/** What a call would be told now, without counting it. */
export function PreviewBox({ task = "", name = "" }: { task?: string; name?: string }) {
  const [fields, setFields] = useState({ task, key: name, limit: "", window: "" });
  const [told, setTold] = useState<Decision | Trouble>();
  const lacking = useLacking("operate");
  const look = async (event: Event) => {
    event.preventDefault();
    const spec = { key: fields.key, limit: fields.limit, ...(fields.window && { windowSeconds: fields.window }) };
    const body = { task: fields.task, run: "preview", specs: [spec], check: true, enforce: false };
    setTold(await call<Decision>("POST", "/v1/admit", { body }).catch((error: Trouble) => error));
  };
  const field = (what: keyof typeof fields, title: string, hint = "") => (
    <label class="field">
      <span>{title}</span>
      <input type="text" value={fields[what]} placeholder={hint} spellcheck={false} onInput={(event) => setFields({ ...fields, [what]: event.currentTarget.value })} />
    </label>
  );
  return (
    <form class="card preview" onSubmit={look}>
      <h2>What would a call be told?</h2>
      <p class="faint">Nothing is counted. With a window it is a rate, without one a place in flight.</p>
      <div class="row">
        {field("task", "Task")}
        {field("key", "Key")}
        {field("limit", "Limit", "20")}
        {field("window", "Window, seconds", "60")}
        <button type="submit" disabled={!!lacking || !fields.task || !fields.key || !fields.limit} title={lacking ?? ""}>
          Preview{lacking ? <span class="unseen">, {lacking}</span> : null}
        </button>
      </div>
      <div role="status">{told instanceof Trouble ? <p class="warn">{told.message}</p> : told ? <Verdict told={told} /> : null}</div>
    </form>
  );
}

function Verdict({ told }: { told: Decision }) {
  const [result] = told.results;
  if (!result) return <p class="warn">The limiter could not say.</p>;
  const wait = told.retryAfterSeconds > 0 ? ` Again in ${span(told.retryAfterSeconds * 1_000)}.` : "";
  return (
    <p>
      <b class={told.overLimit ? "warn" : ""}>{told.overLimit ? "It would be refused." : "It would pass."}</b>{" "}
      {number(result.used)} of {number(result.limit)} {told.type === "rate" ? "used" : "in flight"}, with this call.{wait}
    </p>
  );
}
