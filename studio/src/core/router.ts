import type { ComponentChildren, JSX } from "preact";
import { h } from "preact";
import { Store, useStore } from "./store";

const BASE = "/studio";

/** Where we are, below `/studio`: the parts of the path, decoded, and the query. */
export interface Place {
  parts: string[];
  query: URLSearchParams;
}

function here(): Place {
  const path = location.pathname.slice(BASE.length);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(location.search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const place = new Store<Place>(here());
addEventListener("popstate", () => place.set(here()));

export const usePlace = (): Place => useStore(place);

/** The namespace that is looked at; it stays in every link. */
export const agent = (): string => place.get().query.get("agent") ?? "default";

/** A path below `/studio`, from its parts. */
export function path(...parts: string[]): string {
  return "/" + parts.map(encodeURIComponent).join("/");
}

export function href(to: string): string {
  const [target = "", search = ""] = to.split("?");
  const query = new URLSearchParams(search);
  if (agent() !== "default" && !query.has("agent")) query.set("agent", agent());
  const text = query.toString();
  return BASE + target + (text && `?${text}`);
}

export function go(to: string, how: { replace?: boolean } = {}): void {
  const target = href(to);
  if (target === location.pathname + location.search) return;
  history[how.replace ? "replaceState" : "pushState"](null, "", target);
  place.set(here());
  if (!how.replace) scrollTo(0, 0);
}

/** The same page with other parameters; empty ones go. Typing replaces, choosing adds to the history. */
export function ask(changes: Record<string, string | undefined>, how: { replace?: boolean } = {}): void {
  const { parts, query } = place.get();
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  history[how.replace ? "replaceState" : "pushState"](null, "", BASE + path(...parts) + (text && `?${text}`));
  place.set(here());
}

type LinkProps = Omit<JSX.IntrinsicElements["a"], "href"> & { to: string; children: ComponentChildren };

/** A real link: it can be opened elsewhere, copied, and walked to by keyboard. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!isPlain || event.defaultPrevented) return;
    event.preventDefault();
    go(to);
  };
  return h("a", { ...rest, href: href(to), onClick: follow }, children);
}
