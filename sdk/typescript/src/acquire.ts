/**
 * Asking until there is a slot, or none to be had.
 *
 * The id is made before the first try, so a try whose answer was lost is made again without taking a second slot. The
 * call stays open while the slot waits (`confirm: auto`): the grant itself makes it busy, and a caller that is gone has
 * left. A line that breaks is therefore taken for a hang-up; the slot has then left, and what remains of the timeout is
 * asked for anew. The limiter's clock alone decides when the time is up.
 */
import { milliseconds, type Duration } from './duration.js';
import { MaitredError, SlotLostError, SlotTimeoutError } from './errors.js';
import { backOff, pause, type Http } from './http.js';
import { newId } from './id.js';
import type { LimitName } from './register.js';
import { Slot } from './slot.js';
import type { AcquireFields, SlotAnswer } from './wire.js';

export interface AcquireOptions {
  /** How long to wait: 24 h if not given, at most 400 days; 0 does not wait. */
  timeout?: Duration | undefined;
  /** An id for people to find. No personal data. */
  label?: string | undefined;
  /** How much of the limit the slot takes, 1 if not given. */
  weight?: number | undefined;
  /** The run it belongs to, with what ends it beside release and max hold. */
  run?: string | undefined;
  workflow?: string | undefined;
  hold?: 'released' | 'run' | undefined;
  /** Gives up waiting, and gives back what may have been granted. */
  signal?: AbortSignal | undefined;
}

/** One limit, or several at once with the weight in each. */
export type Limits = LimitName | Record<string, number>;

const DAY_MS = 86_400_000;
/** The first open call is short, so that a server that hangs is noticed early; proxies end silent calls at a minute. */
const FIRST_ROUND_MS = 5_000;
const LONGEST_ROUND_MS = 50_000;
const SLACK_MS = 10_000;
const LOST = new Set(['left', 'released', 'expired']);

export async function acquire(http: Http, limits: Limits, options: AcquireOptions): Promise<Slot> {
  const timeout = options.timeout ?? '24h';
  const ends = Date.now() + (milliseconds(timeout) ?? DAY_MS);
  const limiter = typeof limits === 'string' ? limits : (Object.keys(limits)[0] ?? '');
  let slot = newId();
  let wanted: Duration = timeout;
  for (;;) {
    const answer = await settle(http, { ...fields(limits, options), slot, timeout: wanted }, options.signal);
    if (answer.state === 'busy') return new Slot(http, limiter, answer);
    if (answer.state === 'timed_out') throw new SlotTimeoutError(limiter, timeout);
    if (!answer.wasInterrupted || !LOST.has(answer.state)) throw new SlotLostError(limiter, slot, answer.state);
    slot = newId();
    wanted = Math.max(0, ends - Date.now());
  }
}

function fields(limits: Limits, options: AcquireOptions): AcquireFields {
  const { label, weight, run, workflow, hold } = options;
  const named =
    typeof limits === 'string'
      ? { limit: limits, ...(weight === undefined ? {} : { weight }) }
      : { limits: Object.entries(limits).map(([limit, weight]) => ({ limit, weight })) };
  const known = { label, run, workflow, hold };
  const given = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return { ...named, ...given, confirm: 'auto' };
}

type Settled = SlotAnswer & { wasInterrupted: boolean };

/** Open call after open call, until the slot is neither queued nor on its way. */
async function settle(http: Http, fields: AcquireFields, signal: AbortSignal | undefined): Promise<Settled> {
  let [roundMs, tried, wasInterrupted, failingSince] = [FIRST_ROUND_MS, 0, false, Infinity];
  for (;;) {
    const began = Date.now();
    try {
      const body = { ...fields, wait: roundMs };
      const answer = await http.askOnce<SlotAnswer>('POST', '/v1/slots', { body, signal, withinMs: roundMs + SLACK_MS });
      if (answer.state !== 'queued' && answer.state !== 'reserved') return { ...answer, wasInterrupted };
      [tried, failingSince] = [0, Infinity];
      if (Date.now() - began < roundMs / 2) await pause(backOff(3), signal); // it does not wait as it was asked to
      roundMs = Math.min(roundMs * 2, LONGEST_ROUND_MS);
    } catch (error) {
      failingSince = Math.min(failingSince, Date.now());
      const isHopeless = Date.now() - failingSince > http.patienceMs || !(error as Partial<MaitredError>).retryable;
      if (signal?.aborted || isHopeless) {
        giveUp(http, fields.slot!, error);
        throw error;
      }
      wasInterrupted = true;
      await pause(backOff(tried++), signal).catch((reason) => {
        giveUp(http, fields.slot!, reason);
        throw reason;
      });
    }
  }
}

/** What was asked for may have been granted. Nobody waits for this; the max hold is the last resort. */
function giveUp(http: Http, slot: string, why: unknown): void {
  if (MaitredError.is(why) && why.outcome === 'refused' && why.status !== undefined) return;
  const path = `/v1/slots/${slot}`;
  void http
    .ask<SlotAnswer>('POST', `${path}/leave`)
    .then((left) => (left.state === 'busy' ? http.ask('POST', `${path}/release`, { id: newId() }) : undefined))
    .catch(() => undefined);
}
