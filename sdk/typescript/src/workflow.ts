/** Slots for workflows on Workflow DevKit. */
import { takeSlot, type Slot, type SlotOptions } from './durable/slot.js';
import { releaseSlot } from './durable/steps.js';
import { MaitredError } from './errors.js';
import type { LimitName } from './register.js';

export { MaitredError, SlotLostError, SlotTimeoutError } from './errors.js';
export { runSerially } from './durable/serial.js';
export { releaseSlot, type Slot, type SlotOptions };

/**
 * A slot of the limit. While none is free the run waits in the limit's queue, first come, first served, over restarts of
 * app and limiter; in the DevKit's view its hook is named `Esperando hueco · LIMIT`.
 *
 * In a workflow's body only. Throws `SlotTimeoutError` when none became free within `timeout`.
 */
export async function acquireSlot(limit: LimitName, options: SlotOptions = {}): Promise<Slot> {
  inBody('acquireSlot');
  return takeSlot(limit, options);
}

/**
 * Holds a slot while `fn` runs, and gives it back when it returns or throws. In a workflow's body only.
 *
 * A release that can't be made does not undo what `fn` did: the slot comes back at its max hold.
 */
export async function withLimit<T>(limit: LimitName, fn: (slot: Slot) => Promise<T>, options: SlotOptions = {}): Promise<T> {
  inBody('withLimit');
  const slot = await takeSlot(limit, options);
  try {
    return await fn(slot);
  } finally {
    await releaseSlot(slot.id).catch(() => undefined);
  }
}

/** Only the place where a workflow's body runs can make hooks. */
function inBody(name: string): void {
  if (Symbol.for('WORKFLOW_CREATE_HOOK') in globalThis) return;
  const message = `${name} waits on a durable hook: call it from the 'use workflow' function, not from a step or outside`;
  throw new MaitredError('invalid_argument', message);
}
