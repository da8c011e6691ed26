import { useEffect, useState } from "preact/hooks";
import { get, me, token } from "../api/client";
import type { Namespaces, Overview } from "../api/types";
import { clock } from "../core/format";
import { line, type LineState } from "../core/live";
import { prefs, type Rate, type Theme } from "../core/prefs";
import { agent, ask, go, path, usePlace } from "../core/router";
import { useStore } from "../core/store";
import { Icon } from "./icons";

export function Header({ onHelp }: { onHelp: () => void }) {
  return (
    <header class="header">
      <Search />
      <Dot />
      <Agents />
      <Settings onHelp={onHelp} />
    </header>
  );
}

/** One box for everything: the name of a limit leads to it, anything else is explained. */
function Search() {
  const [text, setText] = useState("");
  const search = async (event: Event) => {
    event.preventDefault();
    const wanted = text.trim();
    if (!wanted) return;
    const found = await get<Overview>("/v1/overview", { limit: wanted, most: 1 }).catch(() => undefined);
    setText("");
    document.getElementById("search")?.blur();
    go(found?.matching ? path("limits", wanted) : path("explain", wanted));
  };
  const leave = (event: KeyboardEvent) => event.key === "Escape" && (event.currentTarget as HTMLElement).blur();
  return (
    <form class="search" role="search" onSubmit={search}>
      <Icon name="search" />
      <input
        id="search"
        type="search"
        value={text}
        placeholder="Limit, run, slot or label"
        aria-label="Find a limit, or ask why a run, slot or label is not moving"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={leave}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

const WORDS: Record<LineState, string> = {
  connecting: "Connecting",
  live: "Live",
  every: "Every",
  off: "Paused",
  hidden: "Paused (tab hidden)",
  reconnecting: "Reconnecting",
  "signed out": "Signed out",
};

/** How fresh what is shown is. */
function Dot() {
  const { state, everyS, asOf } = useStore(line);
  const { rate } = useStore(prefs);
  const words = state === "every" ? `Every ${everyS} s` : WORDS[state];
  return (
    <div class={`dot ${state.replace(" ", "-")}`} role="status">
      <i aria-hidden="true" />
      <label>
        <span class="dot-state">{words}</span>
        {asOf ? <span class="faint"> as of {clock(asOf)}</span> : null}
        <select
          aria-label="How often to look anew"
          value={rate}
          onChange={(event) => prefs.change({ rate: event.currentTarget.value as Rate })}
        >
          <option value="live">Live</option>
          <option value="5">Every 5 s</option>
          <option value="15">Every 15 s</option>
          <option value="off">Paused</option>
        </select>
      </label>
    </div>
  );
}

/** Which installation is looked at. */
function Agents() {
  usePlace();
  const [known, setKnown] = useState<string[]>([]);
  const carried = useStore(token);
  useEffect(() => {
    get<Namespaces>("/v1/namespaces").then(
      (answer) => setKnown(answer.namespaces),
      () => {},
    );
  }, [carried]);
  const all = [...new Set(["default", agent(), ...known])].sort();
  const change = (name: string) => {
    go("/limits");
    ask({ agent: name === "default" ? undefined : name });
  };
  return (
    <select class="agents" aria-label="Agent" title="Agent (namespace)" value={agent()} onChange={(event) => change(event.currentTarget.value)}>
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Settings({ onHelp }: { onHelp: () => void }) {
  const { theme, keys, utc } = useStore(prefs);
  const known = useStore(me);
  const carried = useStore(token);
  return (
    <details class="settings">
      <summary aria-label="Settings">
        <span aria-hidden="true">⋯</span>
      </summary>
      <div class="menu">
        <label class="field">
          <span>Theme</span>
          <select value={theme} onChange={(event) => prefs.change({ theme: event.currentTarget.value as Theme })}>
            <option value="system">As the system</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
        <label class="tick">
          <input type="checkbox" checked={utc} onChange={(event) => prefs.change({ utc: event.currentTarget.checked })} />
          Times in UTC
        </label>
        <label class="tick">
          <input type="checkbox" checked={keys} onChange={(event) => prefs.change({ keys: event.currentTarget.checked })} />
          Single-letter keys
        </label>
        <button type="button" onClick={onHelp}>
          Keys and words
        </button>
        <p class="faint">
          {known ? `${known.name ?? "Anybody on this machine"}, role ${known.role}, maitred ${known.version}` : "Not signed in"}
        </p>
        {carried ? (
          <button type="button" onClick={() => token.set("")}>
            Sign out
          </button>
        ) : null}
      </div>
    </details>
  );
}
