import { useEffect, useRef, useState } from "preact/hooks";

export interface SteadyRow<T> {
  id: string;
  row: T;
  /** It is no longer among the rows; shown until nobody points at it. */
  isGone: boolean;
}

/** How long a row that has gone is still shown. */
const LINGER_MS = 5_000;

/**
 * Rows that don't move under the pointer: while one of them is pointed at or has the focus, their order stays, what
 * they say goes on, those that have gone are crossed out, and new ones wait. `linger` rows stay a moment after they went.
 */
export function useSteady<T>(rows: T[], idOf: (row: T) => string, isHeld: boolean, lingering: ReadonlySet<string>) {
  const shown = useRef<SteadyRow<T>[]>([]);
  const goneAt = useRef(new Map<string, number>());
  const [, redraw] = useState(0);
  const now = Date.now();
  const current = new Map(rows.map((row) => [idOf(row), row]));
  for (const { id } of shown.current) {
    if (current.has(id)) goneAt.current.delete(id);
    else if (!goneAt.current.has(id)) goneAt.current.set(id, now);
  }
  const stays = (id: string) => isHeld || (lingering.has(id) && now - (goneAt.current.get(id) ?? 0) < LINGER_MS);
  shown.current = isHeld && shown.current.length > 0
    ? shown.current.map(({ id, row }) => ({ id, row: current.get(id) ?? row, isGone: !current.has(id) }))
    : merged(shown.current, rows, idOf, current, stays);
  const waiting = rows.filter((row) => !shown.current.some(({ id }) => id === idOf(row))).length;
  const hasGone = shown.current.some(({ isGone }) => isGone);
  useEffect(() => {
    if (!hasGone || isHeld) return;
    const timer = setTimeout(() => redraw((count) => count + 1), LINGER_MS);
    return () => clearTimeout(timer);
  }, [hasGone, isHeld, rows]);
  return { rows: shown.current, waiting };
}

/** The rows as they are, with those that linger where they were. */
function merged<T>(
  before: SteadyRow<T>[],
  rows: T[],
  idOf: (row: T) => string,
  current: Map<string, T>,
  stays: (id: string) => boolean,
): SteadyRow<T>[] {
  const next = rows.map((row) => ({ id: idOf(row), row, isGone: false }));
  before.forEach(({ id, row }, at) => {
    if (!current.has(id) && stays(id)) next.splice(Math.min(at, next.length), 0, { id, row, isGone: true });
  });
  return next;
}

/** Whether something in an element is pointed at or has the focus, other than by a touch. */
export function useHeld() {
  const [isPointedAt, setPointedAt] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const handlers = {
    onPointerEnter: (event: PointerEvent) => setPointedAt(event.pointerType === "mouse"),
    onPointerLeave: () => setPointedAt(false),
    onFocusIn: () => setFocused(true),
    onFocusOut: () => setFocused(false),
  };
  return { isHeld: isPointedAt || isFocused, handlers };
}
