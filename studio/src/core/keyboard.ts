import { useEffect, useRef } from "preact/hooks";
import { prefs } from "./prefs";

export type Keys = Record<string, () => void>;

const layers: { current: Keys }[] = [];
let before = "";
let beforeAt = 0;
/** How long after the first letter of `g l` the second may come. */
const CHORD_MS = 1_200;

/** Keys of a page or of the whole app; a later one wins. Names: `r`, `/`, `g l`, `Escape`, `ArrowDown`. */
export function useKeys(keys: Keys): void {
  const layer = useRef(keys);
  layer.current = keys;
  useEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key.length === 1 && !prefs.get().keys) return;
  const chord = event.timeStamp - beforeAt < CHORD_MS ? `${before} ${event.key}` : "";
  before = event.key;
  beforeAt = event.timeStamp;
  for (const layer of layers.toReversed()) {
    const act = layer.current[chord] ?? layer.current[event.key];
    if (!act) continue;
    event.preventDefault();
    before = "";
    act();
    return;
  }
});

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Moves the focus among the rows of the page's tables: `data-row` marks what can be walked to. */
export function walk(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

/** The row that has the focus, or has something in it that has. */
export function rowInFocus(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("[data-row]") ?? null;
}

/** Presses the button of this name in the row that has the focus; else the only one on the page. */
export function press(name: string): void {
  const within = rowInFocus() ?? document;
  const buttons = within.querySelectorAll<HTMLButtonElement>(`[data-act="${name}"]:not(:disabled)`);
  if (buttons.length === 1) buttons[0]!.click();
}
