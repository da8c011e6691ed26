import { MaitredError } from './errors.js';

/** `45m`, `2h`, `90s`, `500ms`, `30d`, combined largest first (`1h30m`), or whole milliseconds. */
export type Duration = string | number;

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
const SHAPE = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const ALLOWED = "allowed: '45m', '2h', '90s', '500ms', '30d', '1h30m', or whole milliseconds";

/** The milliseconds of a duration, or nothing if it is none. */
export function milliseconds(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? spelled(value) : value;
  return Number.isSafeInteger(ms) && (ms as number) >= 0 ? (ms as number) : undefined;
}

// Without recursion: the DevKit's builder, which draws what a workflow's body does, follows calls without end.
function spelled(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  const parts = text === '' ? undefined : SHAPE.exec(text)?.slice(1);
  return parts?.reduce((sum, part, index) => sum + Number(part ?? 0) * Object.values(UNITS)[index]!, 0) ?? NaN;
}

/** The milliseconds of a duration between two bounds; the error names what it is for and what is allowed. */
export function checkedDuration(value: unknown, name: string, code: string, leastMs: number, mostMs: number): number {
  const ms = milliseconds(value);
  if (ms !== undefined && ms >= leastMs && ms <= mostMs) return ms;
  const range = `from ${shown(leastMs)} to ${shown(mostMs)}`;
  throw new MaitredError(code, `${name}: ${JSON.stringify(value) ?? 'nothing'} is no duration ${range}; ${ALLOWED}`);
}

/** The shortest way to write so many milliseconds. */
export function shown(ms: number): string {
  let rest = ms;
  let text = '';
  for (const [unit, size] of Object.entries(UNITS)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return text || '0ms';
}
