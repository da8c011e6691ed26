import type { Key } from "../api/types";
import { duration } from "../core/format";
import { useNow } from "../core/live";

/** How much of a rate's window is over. */
export function WindowBar({ window }: { window: NonNullable<Key["window"]> }) {
  const now = useNow();
  const whole = window.ends_at - window.started_at;
  const over = Math.min(1, Math.max(0, (now - window.started_at) / whole));
  return (
    <span class="expiry">
      <span class="track" aria-hidden="true">
        <i style={{ width: `${over * 100}%` }} />
      </span>
      {duration(whole)}
    </span>
  );
}
