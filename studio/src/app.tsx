import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, me, token } from "./api/client";
import type { Whoami } from "./api/types";
import { Link, go, usePlace } from "./core/router";
import { press, rowInFocus, useKeys, walk } from "./core/keyboard";
import { line } from "./core/live";
import { prefs } from "./core/prefs";
import { useStore } from "./core/store";
import { Header } from "./parts/header";
import { Help } from "./parts/help";
import { Said } from "./parts/said";
import { SignIn } from "./parts/sign-in";
import { AuditPage } from "./pages/audit";
import { ExplainPage } from "./pages/explain";
import { HealthPage } from "./pages/health";
import { LimitPage } from "./pages/limit";
import { LimitsPage } from "./pages/limits";
import { NotHere } from "./pages/not-here";
import { RatePage } from "./pages/rate";
import { RatesPage } from "./pages/rates";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";

const SECTIONS = [
  ["limits", "Limits"],
  ["runs", "Runs"],
  ["rates", "Rates"],
  ["audit", "Audit"],
  ["health", "Health"],
] as const;

export function App() {
  const { parts } = usePlace();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const section = parts[0] ?? "limits";
  useEffect(() => {
    if (parts.length === 0) go("/limits", { replace: true });
  }, [parts]);
  useEffect(() => {
    document.title = `${parts.slice(1).join(" ") || section} · maitred studio`;
  }, [parts]);
  useWhoami();
  useKeys({
    ...Object.fromEntries(SECTIONS.map(([name]) => [`g ${name === "rates" ? "t" : name[0]}`, () => go(`/${name}`)])),
    "/": () => document.querySelector<HTMLInputElement>("#search")?.focus(),
    "?": () => setHelpOpen(true),
    ".": () => prefs.change({ rate: prefs.get().rate === "off" ? "live" : "off" }),
    j: () => walk(1),
    k: () => walk(-1),
    ArrowDown: () => walk(1),
    ArrowUp: () => walk(-1),
    r: () => press("release"),
    e: () => press("edit"),
    o: () => rowInFocus()?.querySelector<HTMLAnchorElement>("a[data-open]")?.click(),
  });
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <nav class="nav" aria-label="Sections">
        <Link to="/limits" class="brand" aria-label="maitred studio: the limits">
          <img src="/studio/icon.svg" alt="" width="22" height="22" />
          <span>maitred</span>
        </Link>
        <ul>
          {SECTIONS.map(([name, title]) => (
            <li key={name}>
              <Link to={`/${name}`} aria-current={section === name ? "page" : undefined}>
                {title}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Header onHelp={() => setHelpOpen(true)} />
      <Stale>
        <Page parts={parts} />
      </Stale>
      <Said />
      <SignIn />
      {isHelpOpen ? <Help onClose={() => setHelpOpen(false)} /> : null}
    </div>
  );
}

/** What is shown stays when nothing new comes, but looks it. */
function Stale({ children }: { children: ComponentChildren }) {
  const { state } = useStore(line);
  const isStale = state === "reconnecting" || state === "signed out";
  return (
    <main id="main" class={isStale ? "stale" : ""} tabIndex={-1}>
      {children}
    </main>
  );
}

function Page({ parts }: { parts: string[] }) {
  const [section = "limits", first, second, third] = parts;
  if (section === "limits" && first === undefined) return <LimitsPage />;
  if (section === "limits" && first && second === undefined) return <LimitPage key={first} name={first} />;
  if (section === "limits" && second === "slots" && third) return <ExplainPage key={third} what={third} limit={first!} />;
  if (section === "explain") return <ExplainPage key={first ?? ""} what={first ?? ""} />;
  if (section === "runs") return first ? <RunPage key={first} run={first} /> : <RunsPage />;
  if (section === "rates") return first && second ? <RatePage key={first + second} task={first} name={second} /> : <RatesPage />;
  if (section === "audit") return <AuditPage />;
  if (section === "health") return <HealthPage />;
  return <NotHere />;
}

/** Asked again with every token. */
function useWhoami() {
  const carried = useStore(token);
  useEffect(() => {
    me.set(undefined);
    get<Whoami>("/v1/whoami").then(
      (known) => me.set(known),
      () => {},
    );
  }, [carried]);
}
