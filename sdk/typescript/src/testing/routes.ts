/** The routes of the API that the double has. */
import { milliseconds, shown } from '../duration.js';
import { newId } from '../id.js';
import type { AcquireFields } from '../wire.js';
import { capacity, limitInfo, slotInfo, type Asked, type Limit, type Queue, type Slot } from './queue.js';
import type { Asking, Rates } from './rates.js';

/** A problem, on its way to becoming an answer. */
export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export interface Ask {
  method: string;
  url: URL;
  body: unknown;
  signal: AbortSignal | undefined;
}

type Fields = Record<string, unknown>;
type Handler = (queue: Queue, rates: Rates, ask: Ask, name: string) => unknown;

const DAY_MS = 86_400_000;
const LIMIT_NAME = /^[a-z0-9._-]{1,64}$/;

export function routed(queue: Queue, rates: Rates, ask: Ask): unknown {
  const parts = ask.url.pathname.split('/').slice(2).map(decodeURIComponent);
  const [what, name = '', verb] = parts;
  const pattern = [ask.method, what, ...(parts.length > 1 ? [':name'] : []), ...(verb ? [verb] : [])].join(' ');
  const handler = ROUTES[pattern];
  if (!handler) throw new Refusal(501, 'not_found', `the limiter for tests does not have ${ask.method} ${ask.url.pathname}`);
  return handler(queue, rates, ask, name);
}

const ROUTES: Record<string, Handler> = {
  'GET limits': (queue) => {
    const limits = [...queue.limits.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return seen(queue, { limits: limits.map((limit) => limitInfo(queue, limit)) });
  },
  'PUT limits': (queue, _, { body }) => {
    const wanted = (body as { limits: Fields[] }).limits.map((fields) => checked(String(fields.name), fields));
    const names = new Set(wanted.map(({ name }) => name));
    for (const limit of queue.limits.values()) {
      limit.isRetired = !names.has(limit.name);
      const isEmpty = queue.holders(limit.name).length + queue.queue(limit.name).length === 0;
      if (limit.isRetired && isEmpty) queue.limits.delete(limit.name);
    }
    wanted.forEach((limit) => declare(queue, limit));
    return seen(queue, {});
  },
  'PUT limits :name': (queue, _, { body }, name) => {
    declare(queue, checked(name, body as Fields));
    return limitAnswer(queue, name);
  },
  'GET limits :name': (queue, _, __, name) => limitAnswer(queue, name),
  'GET limits :name slots': (queue, _, __, name) => {
    const limit = limitInfo(queue, known(queue, name));
    const [holders, waiting] = [queue.holders(name), queue.queue(name)];
    const busyFirst = holders.toSorted((a, b) => Number(a.state !== 'busy') - Number(b.state !== 'busy') || a.fence! - b.fence!);
    return seen(queue, { limit, holders: busyFirst.map(info(queue)), queue: waiting.map(info(queue)) });
  },
  'PUT limits :name capacity': (queue, _, { body }, name) =>
    operated(queue, name, (limit) => (limit.capacity = wholeCapacity(name, (body as Fields).capacity))),
  'DELETE limits :name capacity': (queue, _, __, name) => operated(queue, name, (limit) => (limit.capacity = undefined)),
  'PUT limits :name max-hold': (queue, _, { body }, name) =>
    operated(queue, name, (limit) => (limit.maxHoldMs = holdMs(name, (body as Fields).max_hold))),
  'DELETE limits :name max-hold': (queue, _, __, name) => operated(queue, name, (limit) => (limit.maxHoldMs = undefined)),
  'PUT limits :name pause': (queue, _, __, name) => operated(queue, name, (limit) => (limit.isPaused = true)),
  'DELETE limits :name pause': (queue, _, __, name) => operated(queue, name, (limit) => (limit.isPaused = false)),
  'POST slots': (queue, _, { body, signal }) => acquire(queue, body as AcquireFields, signal),
  'GET slots :name': (queue, _, __, id) => answer(queue, id),
  'POST slots :name confirm': (queue, _, __, id) => {
    const slot = queue.slots.get(id);
    if (slot?.state === 'reserved') slot.state = 'busy';
    return answer(queue, id);
  },
  'POST slots :name release': (queue, _, __, id) => {
    const slot = queue.slots.get(id);
    const released = slot?.state === 'reserved' || slot?.state === 'busy';
    if (released) end(queue, slot!, 'released');
    return seen(queue, { released, slot: id, state: slot?.state ?? 'unknown' });
  },
  'POST slots :name leave': (queue, _, __, id) => {
    const slot = queue.slots.get(id);
    if (slot?.state === 'queued' || slot?.state === 'reserved') end(queue, slot, 'left');
    return answer(queue, id);
  },
  'GET runs :name': (queue, _, __, run) => seen(queue, { run, slots: queue.ofRun(run).map(info(queue)), places: [], hits: 0 }),
  'POST runs :name end': (queue, rates, { body }, run) => {
    rates.endRun(run, (body as Fields).status === 'succeeded');
    queue.endRun(run);
    return seen(queue, {});
  },
  'POST admit': (queue, rates, { body }) => ({ ...rates.admit(admission(body as Asking), queue.now), revision: 1 }),
};

const info = (queue: Queue) => (slot: Slot) => slotInfo(queue, slot);
const seen = <T extends object>(queue: Queue, fields: T) => ({ ...fields, revision: 1, as_of: queue.now });

function known(queue: Queue, name: string): Limit {
  const limit = queue.limits.get(name);
  if (!limit) throw new Refusal(404, 'limit_not_found', `there is no limit \`${name}\`; declare it first`);
  return limit;
}

function limitAnswer(queue: Queue, name: string): object {
  return seen(queue, limitInfo(queue, known(queue, name)));
}

function operated(queue: Queue, name: string, act: (limit: Limit) => unknown): object {
  act(known(queue, name));
  queue.grant();
  return limitAnswer(queue, name);
}

function declare(queue: Queue, limit: Limit): void {
  const old = queue.limits.get(limit.name);
  queue.limits.set(limit.name, old ? { ...old, declared: limit.declared, isRetired: false } : limit);
  queue.grant();
}

function checked(name: string, fields: Fields): Limit {
  if (!LIMIT_NAME.test(name)) throw new Refusal(400, 'invalid_limit_name', `\`${name}\`: allowed: 1 to 64 of a-z 0-9 . _ -`);
  const declared = { capacity: wholeCapacity(name, fields.capacity), maxHoldMs: holdMs(name, fields.max_hold) };
  return { name, declared, isPaused: false, isRetired: false };
}

function wholeCapacity(name: string, given: unknown): number {
  const isFine = Number.isInteger(given) && (given as number) >= 1 && (given as number) <= 100_000;
  if (isFine) return given as number;
  throw new Refusal(400, 'invalid_capacity', `limit \`${name}\`: capacity: allowed: a whole number from 1 to 100000`);
}

function holdMs(name: string, given: unknown): number {
  const ms = milliseconds(given);
  if (ms !== undefined && ms >= 1 && ms <= 30 * DAY_MS) return ms;
  throw new Refusal(400, 'invalid_max_hold', `limit \`${name}\`: max_hold: allowed: from 1 ms to ${shown(30 * DAY_MS)}`);
}

function answer(queue: Queue, id: string): object {
  const slot = queue.slots.get(id);
  return seen(queue, slot ? slotInfo(queue, slot) : { slot: id, state: 'unknown' });
}

function end(queue: Queue, slot: Slot, state: 'released' | 'left'): void {
  queue.end(slot, state);
  queue.grant();
}

function acquire(queue: Queue, fields: AcquireFields, signal: AbortSignal | undefined): unknown {
  const asked = asking(fields);
  const before = queue.slots.get(asked.slot);
  if (before && content(before.asked) !== content(asked)) throw new Refusal(409, 'conflict', 'this slot was asked for otherwise');
  const slot = before ?? fresh(queue, asked);
  const waitMs = milliseconds(fields.wait ?? 0) ?? 0;
  if (slot.state === 'reserved' && asked.confirm === 'auto' && waitMs > 0) slot.state = 'busy';
  if (!before) {
    if (waitMs > 0) slot.line = () => undefined;
    queue.grant();
    if (slot.state === 'queued' && asked.timeoutMs === 0) queue.end(slot, 'timed_out');
  }
  return slot.state === 'queued' && waitMs > 0 ? onTheLine(queue, slot, signal) : answer(queue, asked.slot);
}

/** Until something happens to the slot, or the caller hangs up, which for `confirm: auto` is leaving. */
function onTheLine(queue: Queue, slot: Slot, signal: AbortSignal | undefined): Promise<object> {
  return new Promise((resolve, reject) => {
    const hangUp = () => {
      slot.line = undefined;
      if (slot.asked.confirm === 'auto' && slot.state === 'queued') end(queue, slot, 'left');
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', hangUp, { once: true });
    slot.line = () => {
      signal?.removeEventListener('abort', hangUp);
      resolve(answer(queue, slot.asked.slot));
    };
  });
}

function fresh(queue: Queue, asked: Asked): Slot {
  for (const [name, weight] of asked.weights) {
    const limit = known(queue, name);
    if (limit.isRetired) throw new Refusal(409, 'limit_retired', `limit \`${name}\` is retired`);
    if (weight > capacity(limit)) throw new Refusal(409, 'never_fits', `limit \`${name}\`: weight ${weight} is over its capacity`);
  }
  return queue.join(asked);
}

function asking(fields: AcquireFields): Asked {
  const named = fields.limits ?? [{ limit: fields.limit ?? '', weight: fields.weight ?? 1 }];
  const weights = new Map(named.map(({ limit, weight }) => [limit, Number(weight ?? 1)]));
  const timeoutMs = milliseconds(fields.timeout ?? DAY_MS);
  if (timeoutMs === undefined || timeoutMs > 400 * DAY_MS) {
    throw new Refusal(400, 'invalid_timeout', `timeout: allowed: a duration of at most ${shown(400 * DAY_MS)}`);
  }
  return { ...fields, slot: fields.slot ?? newId(), weights, timeoutMs };
}

const content = ({ weights, run, timeoutMs, confirm, hold }: Asked) =>
  JSON.stringify([[...weights], run ?? null, timeoutMs, confirm ?? 'holder', hold ?? 'released']);

function admission(asking: Asking): Asking {
  const needsRun = asking.specs.some((spec) => spec.windowSeconds === undefined || spec.countSuccessesOnly);
  if (needsRun && asking.run === undefined) throw new Refusal(400, 'invalid_run', 'a place in flight needs a run');
  const wrong = asking.specs.find(({ key }) => !/^[A-Za-z0-9._=@|/:-]{1,256}$/.test(key));
  if (wrong) throw new Refusal(400, 'invalid_key', 'key: allowed: 1 to 256 of A-Z a-z 0-9 . _ = @ | / : -');
  return asking;
}
