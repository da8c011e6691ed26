/**
 * Asking until there is a slot, or none to be had.
 *
 * The id is made before the first try, so a try whose answer was lost is made again without taking a second slot. The
 * call stays open while the slot waits (`confirm: auto`): the grant itself makes it busy, and a caller that is gone has
 * left. A line that breaks is therefore taken for a hang-up; the slot has then left, and what remains of the timeout is
 * asked for anew. The limiter's clock decides when the time is up. Where no limiter answers, the caller's own does: at
 * the end of the timeout; or, if the slot may be there, a deadline later, in which the limiter can still say so.
 */
import { milliseconds, type Duration } from './duration.js';
import { MaitredError, SlotLostError, SlotTimeoutError } from './errors.js';
import { backOff, pause, unproven, type Http } from './http.js';
import { newId } from './id.js';
import type { LimitName } from './register.js';
import { Slot } from './slot.js';
import type { AcquireFields, SlotAnswer } from './wire.js';

export interface AcquireOptions {
  /** How long to wait: 24 h if not given, at most 400 days; 0 does not wait. A limiter that is away is waited for no
   * longer than the client's `patienceMs`. */
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
    const answer = await settle(http, { ...fields(limits, options), slot, timeout: wanted }, ends, options.signal);
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
async function settle(http: Http, fields: AcquireFields, ends: number, signal: AbortSignal | undefined): Promise<Settled> {
  let [roundMs, tried, wasInterrupted, failingSince, mayBeThere] = [FIRST_ROUND_MS, 0, false, Infinity, false];
  for (;;) {
    const began = Date.now();
    try {
      const body = { ...fields, wait: roundMs };
      const withinMs = tryMs(roundMs, ends - began, http.deadlineMs);
      const answer = await http.askOnce<SlotAnswer>('POST', '/v1/slots', { body, signal, withinMs });
      if (answer.state !== 'queued' && answer.state !== 'reserved') return { ...answer, wasInterrupted };
      [tried, failingSince, mayBeThere] = [0, Infinity, true];
      if (Date.now() - began < roundMs / 2) await pause(backOff(3), signal); // it does not wait as it was asked to
      roundMs = Math.min(roundMs * 2, LONGEST_ROUND_MS);
    } catch (error) {
      mayBeThere ||= signal?.aborted || !provesAbsence(error);
      failingSince = Math.min(failingSince, Date.now());
      const restMs = Math.min(ends + (mayBeThere ? http.deadlineMs : 0), failingSince + http.patienceMs) - Date.now();
      const isPassing = error instanceof MaitredError && error.retryable && !signal?.aborted;
      if (!isPassing || restMs <= 0) {
        if (mayBeThere) giveUp(http, fields.slot!);
        throw isPassing && mayBeThere ? unproven(error) : error;
      }
      wasInterrupted = true;
      const delayMs = Math.min(backOff(tried++), restMs);
      http.retrying(error, delayMs);
      await pause(delayMs, signal).catch((reason) => {
        if (mayBeThere) giveUp(http, fields.slot!);
        throw reason;
      });
    }
  }
}

/** When a try counts as lost. The limiter ends it by itself, at the end of the round or of the timeout. */
function tryMs(roundMs: number, restMs: number, graceMs: number): number {
  if (restMs > 0) return Math.min(roundMs + SLACK_MS, restMs + graceMs / 2);
  return Math.max(restMs + graceMs * 1.5, graceMs / 2);
}

/** A limiter that stops says `unavailable` to those who wait, and keeps their slots in the queue. */
function provesAbsence(error: unknown): boolean {
  if (!MaitredError.is(error) || error.outcome === 'unknown') return false;
  return !(error.code === 'unavailable' && error.requestId !== undefined);
}

/** What was asked for may have been granted. Nobody waits for this; the max hold is the last resort. */
function giveUp(http: Http, slot: string): void {
  const path = `/v1/slots/${slot}`;
  void http
    .ask<SlotAnswer>('POST', `${path}/leave`)
    .then((left) => (left.state === 'busy' ? http.ask('POST', `${path}/release`, { id: newId() }) : undefined))
    .catch(() => undefined);
}
