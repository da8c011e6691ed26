import { prefs } from "./prefs";

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** The two largest units: `3d 4h`, `12m 5s`, `40s`; below a second milliseconds. */
export function span(ms: number): string {
  if (ms < 1_000) return ms <= 0 ? "0s" : `${Math.round(ms)}ms`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [name, size] = UNITS[at]!;
  const whole = Math.floor(ms / size);
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((ms % size) / next[1]) : 0;
  return next && rest > 0 ? `${whole}${name} ${rest}${next[0]}` : `${whole}${name}`;
}

/** As limits are declared: `1h30m`, without loss. */
export function duration(ms: number): string {
  let text = "";
  for (const [name, size] of [...UNITS, ["ms", 1] as const]) {
    if (ms >= size) text += `${Math.floor(ms / size)}${name}`;
    ms %= size;
  }
  return text || "0s";
}

const zone = () => (prefs.get().utc ? { timeZone: "UTC" } : {});

/** 14:02:11 */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", zone());
}

/** 30 Nov 14:02:11 */
export function moment(at: number): string {
  const date = new Date(at).toLocaleDateString("en-GB", { ...zone(), day: "numeric", month: "short" });
  return `${date} ${clock(at)}`;
}

/** To the millisecond, with its zone: for a tooltip. */
export function exact(at: number): string {
  const date = new Date(at);
  if (prefs.get().utc) return date.toISOString();
  const offset = -date.getTimezoneOffset();
  const two = (number: number) => String(Math.abs(number)).padStart(2, "0");
  const sign = offset < 0 ? "-" : "+";
  const local = new Date(at + offset * 60_000).toISOString().slice(0, -1);
  return `${local}${sign}${two(Math.trunc(offset / 60))}:${two(offset % 60)}`;
}

export const number = (value: number): string => value.toLocaleString("en-US").replaceAll(",", "\u202f");

export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** An id in a narrow column: its end tells ids of one time apart. */
export function short(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 4)}…${id.slice(-8)}`;
}

/** What the server takes for a duration, in milliseconds; none if it is not one. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const match = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/.exec(text);
  if (!match || !text) return undefined;
  const sizes = [86_400_000, 3_600_000, 60_000, 1_000, 1];
  return sizes.reduce((sum, size, index) => sum + size * Number(match[index + 1] ?? 0), 0);
}
