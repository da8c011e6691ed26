import type { LimitInfo } from "../api/types";
import { number } from "../core/format";

/** How many places are taken. Waiting slots are never in it; more than all is said, not drawn. */
export function Bar({ limit }: { limit: LimitInfo }) {
  const { busy, reserved, capacity } = limit;
  const whole = Math.max(capacity, busy + reserved);
  const part = (of: number) => ({ flexGrow: of });
  const isOver = busy + reserved > capacity;
  return (
    <span class={isOver ? "bar over" : "bar"} aria-hidden="true">
      {busy > 0 ? <i class="busy" style={part(busy)} /> : null}
      {reserved > 0 ? <i class="reserved" style={part(reserved)} /> : null}
      {whole > busy + reserved ? <i class="free" style={part(whole - busy - reserved)} /> : null}
    </span>
  );
}

/** The same in words: `18 / 20`, `3 / 5 · 1 reserved`, `18 of 10, draining`. */
export function Use({ limit }: { limit: LimitInfo }) {
  const { busy, reserved, capacity } = limit;
  if (busy + reserved > capacity) {
    return <span class="use warn">{`${number(busy + reserved)} of ${number(capacity)}, draining`}</span>;
  }
  return (
    <span class="use">
      <b>{number(busy)}</b>
      <span class="faint"> / {number(capacity)}</span>
      {reserved > 0 ? <span class="faint"> · {number(reserved)} reserved</span> : null}
    </span>
  );
}

const WIDTH = 96;
const HEIGHT = 20;

/** The lowest number of available places over the last hour: a floor that only falls is a leak. */
export function Spark({ floor, capacity }: { floor: (number | null)[]; capacity: number }) {
  const known = floor.filter((value) => value !== null);
  if (known.length < 2) return <span class="faint">–</span>;
  const top = Math.max(capacity, ...known);
  const x = (at: number) => (at / (floor.length - 1)) * WIDTH;
  const y = (value: number) => HEIGHT - 1.5 - (value / top) * (HEIGHT - 3);
  let path = "";
  floor.forEach((value, at) => {
    if (value === null) return;
    path += path && floor[at - 1] !== null ? `H${x(at).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  const lowest = Math.min(...known);
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`lowest available in the last hour: ${lowest}`}>
      <path class="zero" d={`M0 ${HEIGHT - 1.5}H${WIDTH}`} />
      <path class="line" d={path} />
    </svg>
  );
}
