/**
 * Waiting for a slot in a workflow's body. The order of steps, hooks and sleeps here is on record in every run that
 * waits: a change of it breaks them.
 *
 * A worked example, `voice-calls` full:
 *
 * ```text
 * step  acquireStep                                  queued
 * hook  Esperando hueco · voice-calls · 0193…        the run sleeps, in a box that may be restarted meanwhile
 *       … the limiter calls the app back …           received
 * step  confirmStep                                  busy: the run has its slot
 * ```
 *
 * Why it is right: the limiter alone decides. Whatever wakes the run, it asks by `confirmStep`, whose answer is the
 * slot as it is; so a wake that is doubled, late or in vain does no harm. A slot granted in the answer to `acquireStep`
 * is reserved, not busy: only when that answer is on record does `confirmStep` make it so, and a run that ends in
 * between holds nothing.
 */
import { createHook, sleep } from 'workflow';
import { checkedDuration, type Duration } from '../duration.js';
import { MaitredError, SlotLostError, SlotTimeoutError } from '../errors.js';
import { newId } from '../id.js';
import { hookName, hookToken } from '../token.js';
import { acquireStep, confirmStep, type AcquireInput, type Standing } from './steps.js';

const DAY_MS = 86_400_000;
const TIMEOUT_MOST_MS = 400 * DAY_MS;
/** How long after its timeout a run asks by itself, should nobody have called. */
const GRACE_MS = 30_000;

export interface SlotOptions {
  /** How long to wait: 24 h if not given, at most 400 days; 0 does not wait. */
  timeout?: Duration;
  /** An id for people to find: a call, an order. No personal data. */
  label?: string;
}

export interface Slot {
  id: string;
  limiter: string;
}

export interface Terms extends SlotOptions {
  workflow?: string;
  hold?: 'run';
}

export async function takeSlot(limiter: string, { timeout = '24h', ...fields }: Terms): Promise<Slot> {
  const timeoutMs = checkedDuration(timeout, 'timeout', 'invalid_timeout', 0, TIMEOUT_MOST_MS);
  const slot = { id: newId(), limiter };
  const input: AcquireInput = { slot: slot.id, limit: limiter, timeoutMs, ...fields };
  let state = stateOf(await acquireStep(input));
  if (state === 'reserved') state = stateOf(await confirmStep(slot.id));
  if (state === 'queued') state = await waited(slot, timeoutMs, fields.label);
  if (state === 'busy') return slot;
  if (state === 'timed_out') throw new SlotTimeoutError(limiter, timeout);
  throw new SlotLostError(limiter, slot.id, state);
}

/** Until the slot is neither queued nor reserved. */
async function waited(slot: Slot, timeoutMs: number, label: string | undefined): Promise<string> {
  const { id, limiter } = slot;
  const metadata = { kind: 'slot-wait', name: hookName(limiter), limit: limiter, slot: id, label };
  const hook = createHook<unknown>({ token: hookToken(limiter, id), metadata });
  // A promise is kept until it has fired: a second `then` would take the call after the one that the first waits for.
  const woken = () => hook.then(() => 'hook' as const);
  let restMs = timeoutMs + GRACE_MS;
  const asking = () => sleep(Math.min(DAY_MS, Math.max(GRACE_MS, restMs))).then(() => 'sleep' as const);
  let [call, own] = [woken(), asking()];
  try {
    for (;;) {
      const by = await Promise.race([call, own]);
      const state = stateOf(await confirmStep(id));
      if (state !== 'queued' && state !== 'reserved') return state;
      restMs -= by === 'sleep' ? DAY_MS : 0;
      if (by === 'hook') call = woken();
      else own = asking();
    }
  } finally {
    hook.dispose();
  }
}

function stateOf(standing: Standing): string {
  if ('state' in standing) return standing.state;
  throw new MaitredError(standing.refused.code, standing.refused.message);
}
