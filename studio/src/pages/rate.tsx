import { useState } from "preact/hooks";
import { Trouble, call, get, newId } from "../api/client";
import type { Keys } from "../api/types";
import { number } from "../core/format";
import { useLive } from "../core/live";
import { Link } from "../core/router";
import { Act, At, CopyCli, Empty, Fact, Failed, Skeleton, Text, Until } from "../parts/basics";
import { Dialog, useDialog, Why } from "../parts/dialog";
import { PreviewBox } from "../parts/preview-box";
import { say } from "../parts/said";
import { WindowBar } from "../parts/window-bar";

/** One key of a task: its window, and what to do about it. */
export function RatePage({ task, name }: { task: string; name: string }) {
  const load = () => get<Keys>("/v1/keys", { task, key: name });
  const { data, trouble, refresh } = useLive(`key ${task} ${name}`, load, { gapMs: 1_000 });
  const { asked, ask, ends } = useDialog<true>(refresh);
  const key = data?.keys[0];
  if (!key) return trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />;
  return (
    <section class="page">
      <nav class="crumbs" aria-label="You are here"><Link to="/rates">Rates</Link> <span aria-hidden="true">/</span> <Text mono>{task}</Text></nav>
      <div class="title">
        <h1><Text mono>{name}</Text></h1>
        <span class="spring" />
        <CopyCli words={["rates", "show", task, name]} />
        <Act act="reset" needs="admin" kind="danger" off={key.window ? undefined : "nothing is counted"} onClick={() => ask(true)}>Reset…</Act>
      </div>
      {key.window ? (
        <dl class="facts">
          <Fact name="Used">{number(key.window.used)}</Fact>
          <Fact name="Window"><WindowBar window={key.window} /></Fact>
          <Fact name="Began"><At at={key.window.started_at} /></Fact>
          <Fact name="Fresh again"><Until at={key.window.ends_at} /></Fact>
          <Fact name="In flight">{number(key.in_flight)}</Fact>
        </dl>
      ) : (
        <Empty title="Nothing is counted against this key"><p>{number(key.in_flight)} in flight.</p></Empty>
      )}
      <p class="faint">The limit comes with each call, so it does not stand here. A new window length applies when the running window has ended.</p>
      <PreviewBox task={task} name={name} />
      {asked ? <ResetDialog task={task} name={name} used={key.window?.used ?? 0} {...ends} /> : null}
    </section>
  );
}

interface ResetProps {
  task: string;
  name: string;
  used: number;
  onClose: () => void;
  onDone: () => void;
}

function ResetDialog({ task, name, used, onClose, onDone }: ResetProps) {
  const [why, setWhy] = useState("");
  const [id] = useState(newId);
  const [trouble, setTrouble] = useState<Trouble>();
  const reset = () =>
    call("DELETE", "/v1/keys", { query: { task, key: name }, why, id }).then(
      () => {
        say("Reset: the next hit starts a new window.");
        onDone();
      },
      (error: Trouble) => setTrouble(error),
    );
  return (
    <Dialog title="Reset this counter?" onClose={onClose}>
      <p>{number(used)} hits are forgotten; the whole allowance is fresh. Places in flight stay. It is written into the audit.</p>
      <Why value={why} onInput={setWhy} />
      {trouble ? <Failed trouble={trouble} /> : null}
      <div class="row end">
        <CopyCli words={["rates", "reset", task, name, ...(why ? ["--reason", why] : [])]} />
        <span class="spring" />
        <button type="button" data-first onClick={onClose}>Keep</button>
        <button type="button" class="danger" onClick={reset}>Reset</button>
      </div>
    </Dialog>
  );
}
