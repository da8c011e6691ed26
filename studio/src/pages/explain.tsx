import { get } from "../api/client";
import type { Explained, ExplainedSlot, Overview } from "../api/types";
import { count } from "../core/format";
import { useLive } from "../core/live";
import { Link, path } from "../core/router";
import { EndedTable } from "../limit/ended";
import { ReleaseDialog } from "../limit/release";
import { Expiry, SlotId, StateMark, Who } from "../limit/slots";
import { Act, Ago, At, Copy, CopyCli, Empty, Fact, Failed, Skeleton, Text, Until } from "../parts/basics";
import { useDialog } from "../parts/dialog";

interface Seen extends Explained {
  /** Limits with this in their names, where nothing else is known of it. */
  named: string[];
}

async function load(what: string): Promise<Seen> {
  const explained = await get<Explained>("/v1/explain", { what });
  if (explained.kind !== "unknown") return { ...explained, named: [] };
  const found = await get<Overview>("/v1/overview", { text: what, most: 10 }).catch(() => undefined);
  return { ...explained, named: found?.limits.map(({ limit }) => limit) ?? [] };
}

/** Why a slot, a run or a label is not moving, in words and in numbers. */
export function ExplainPage({ what, limit }: { what: string; limit?: string }) {
  const { data, trouble, refresh } = useLive(`explain ${what}`, () => load(what), { gapMs: 1_000 });
  if (!what) return <Empty title="Ask about a limit, a run, a slot or a label in the box above" isPage />;
  if (!data) return trouble ? <Failed trouble={trouble} retry={refresh} /> : <Skeleton />;
  return (
    <section class="page">
      <nav class="crumbs" aria-label="You are here">
        {limit ? (
          <>
            <Link to="/limits">Limits</Link> <span aria-hidden="true">/</span> <Link to={path("limits", limit)}>{limit}</Link>
          </>
        ) : (
          <span>Explain</span>
        )}
      </nav>
      <div class="title">
        <h1>
          <span class="faint">{data.kind === "unknown" ? "" : `${data.kind} `}</span>
          <Text mono>{what}</Text>
        </h1>
        <Copy text={what} what="Copy" />
        <span class="spring" />
        <CopyCli words={["explain", what]} />
      </div>
      <p class="answer"><Words text={data.text} /></p>
      {data.named.length > 0 ? (
        <>
          <h2>Limits with this in their names</h2>
          <ul class="plain">
            {data.named.map((name) => (
              <li key={name}><Link to={path("limits", name)}>{name}</Link></li>
            ))}
          </ul>
        </>
      ) : null}
      {data.slots.map((slot) => (
        <OneSlot key={slot.slot} slot={slot} alone={data.slots.length === 1} refresh={refresh} />
      ))}
      {data.ended.length > 0 ? (
        <>
          <h2>How it ended</h2>
          <EndedTable ends={data.ended} hasLimit />
        </>
      ) : null}
    </section>
  );
}

/** The server marks names by backquotes. */
function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code class="mono" key={at}><bdi>{part}</bdi></code> : part))}</>;
}

function OneSlot({ slot, alone, refresh }: { slot: ExplainedSlot; alone: boolean; refresh: () => Promise<void> }) {
  const { asked, ask, ends } = useDialog<true>(refresh);
  const isHeld = slot.state === "busy" || slot.state === "reserved";
  return (
    <article class="card">
      <div class="row">
        <StateMark slot={slot} />
        <SlotId slot={slot} limit={slot.limits?.[0]?.limit ?? "-"} />
        <span class="spring" />
        {isHeld ? <Act act="release" onClick={() => ask(true)}>Release</Act> : null}
      </div>
      {alone ? null : <p><Words text={slot.text} /></p>}
      <dl class="facts">
        <Fact name="Whose"><Who slot={{ ...slot, limits: [] }} /></Fact>
        <Fact name="Asked">{slot.asked_at ? <At at={slot.asked_at} /> : "–"}</Fact>
        {slot.granted_at ? <Fact name="Granted"><At at={slot.granted_at} /></Fact> : null}
        {slot.expires_at ? <Fact name="Expires"><Expiry slot={slot} /></Fact> : null}
        {slot.state === "queued" && slot.gives_up_at ? <Fact name="Gives up"><Until at={slot.gives_up_at} /></Fact> : null}
        {slot.next_due_at ? <Fact name="Next place, at the latest"><Until at={slot.next_due_at} /></Fact> : null}
        {slot.fence ? <Fact name="Fence">{slot.fence}</Fact> : null}
        {slot.laps ? <Fact name="Back to the end">{count(slot.laps, "time")}</Fact> : null}
      </dl>
      {slot.waits_for.length > 0 ? slot.waits_for.map((limit) => (
        <div class="block" key={limit.limit}>
          <h2>
            <Link to={path("limits", limit.limit)}>{limit.limit}</Link>{" "}
            <span class="faint">place {limit.place} of {limit.waiting}; {limit.used} of {limit.capacity} taken; {BLOCKS[limit.block]}</span>
          </h2>
          <ul class="plain holders">
            {limit.holders.map((holder) => (
              <li key={holder.slot}>
                <StateMark slot={holder} /> <Who slot={{ ...holder, limits: [] }} /> <span class="faint">for {holder.granted_at ? <Ago at={holder.granted_at} /> : "–"}</span>
                <Expiry slot={holder} />
              </li>
            ))}
          </ul>
        </div>
      )) : null}
      {asked ? <ReleaseDialog slot={slot} {...ends} /> : null}
    </article>
  );
}

const BLOCKS: Record<string, string> = {
  none: "does not block",
  full: "not enough room",
  paused: "paused by an operator",
  too_small: "needs more than the capacity is now",
  behind: "others are ahead",
};
