import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { me, type Trouble } from "../api/client";
import { clock, exact, moment, span } from "../core/format";
import { useNow } from "../core/live";
import { prefs } from "../core/prefs";
import { agent } from "../core/router";
import { useStore } from "../core/store";
import { Icon } from "./icons";

/** How long ago, with the exact time on hover. */
export function Ago({ at, word = "" }: { at: number; word?: string }) {
  const now = useNow();
  return <Exact at={at}>{span(now - at) + (word && ` ${word}`)}</Exact>;
}

/** How long until; past times are due. */
export function Until({ at }: { at: number }) {
  const now = useNow();
  return <Exact at={at}>{at <= now ? "now" : `in ${span(at - now)}`}</Exact>;
}

export function Exact({ at, children }: { at: number; children: ComponentChildren }) {
  useStore(prefs);
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {children}
    </time>
  );
}

/** The time of day; with the date if that is another. */
export function At({ at }: { at: number }) {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return <Exact at={at}>{isToday ? clock(at) : moment(at)}</Exact>;
}

/** Text of somebody else's, which may be in any script and direction. */
export function Text({ children, mono }: { children: string; mono?: boolean }) {
  return <bdi class={mono ? "mono text" : "text"}>{children}</bdi>;
}

export function Copy({ text, what, children }: { text: string; what: string; children?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copied(text);
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <button type="button" class={children ? "quiet" : "quiet bare"} onClick={copy} title={children ? text : what}>
      <Icon name={isDone ? "check" : "copy"} />
      {children ? <span>{isDone ? "Copied" : children}</span> : null}
      {children ? null : <span class="unseen">{isDone ? "Copied" : what}</span>}
    </button>
  );
}

/** Pages that came over plain HTTP from another machine have no clipboard of their own. */
async function copied(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A command line that does the same, as it would be typed here. */
export function cli(...words: string[]): string {
  const plain = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
  const all = ["maitred", ...words];
  if (agent() !== "default") all.push("--agent", agent());
  if (!["http://127.0.0.1:7654", "http://localhost:7654"].includes(location.origin)) all.push("--url", location.origin);
  return all.map(plain).join(" ");
}

export const CopyCli = ({ words }: { words: string[] }) => (
  <Copy text={cli(...words)} what="Copy the command line">
    Copy as CLI
  </Copy>
);

const RANKS = ["read", "operate", "admin"];

/** Why the user may not do what needs this role; none if they may. */
export function useLacking(role: "operate" | "admin"): string | undefined {
  const known = useStore(me);
  return known && RANKS.indexOf(known.role) < RANKS.indexOf(role) ? `needs the ${role} permission` : undefined;
}

interface ActProps {
  act: string;
  needs?: "operate" | "admin";
  kind?: "danger" | "primary" | "quiet";
  off?: string | undefined;
  onClick: () => void;
  children: ComponentChildren;
}

/** A button for a change. Whoever may not make it sees it, and why it does nothing. */
export function Act({ act, needs = "operate", kind, off, onClick, children }: ActProps) {
  const lacking = useLacking(needs) ?? off;
  return (
    <button type="button" class={kind} data-act={act} disabled={!!lacking} title={lacking ?? ""} onClick={onClick}>
      {children}
      {lacking ? <span class="unseen">, {lacking}</span> : null}
    </button>
  );
}

/** What went wrong, and a way on. */
export function Failed({ trouble, retry }: { trouble: Trouble; retry?: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>
        <strong>Not done.</strong> {trouble.message}
      </p>
      <p class="row">
        {retry ? (
          <button type="button" onClick={retry}>
            Try again
          </button>
        ) : null}
        {trouble.requestId ? (
          <span class="faint">
            request <span class="mono">{trouble.requestId}</span>{" "}
            <Copy text={trouble.requestId} what="Copy the request's id" />
          </span>
        ) : null}
      </p>
    </div>
  );
}

/** Where there is nothing to say. */
export const Nil = () => <span class="faint nil">–</span>;

interface EmptyProps {
  title: string;
  /** It stands for a whole page. */
  isPage?: boolean;
  children?: ComponentChildren;
}

/** In the place of rows that aren't there. */
export function Empty({ title, isPage, children }: EmptyProps) {
  return (
    <div class="empty">
      {isPage ? <h1 class="empty-title">{title}</h1> : <p class="empty-title">{title}</p>}
      {children}
    </div>
  );
}

/** While the first answer is on its way. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, at) => (
        <i key={at} />
      ))}
    </div>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
