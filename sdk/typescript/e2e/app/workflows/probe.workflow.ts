import { acquireSlot, MaitredError, releaseSlot, SlotLostError, SlotTimeoutError } from 'maitred/workflow';

/** Tells what came of an acquire, or of one where it may not be made. */
export async function probeWorkflow({ limit, timeout, where = 'body' }: { limit: string; timeout?: string; where?: string }) {
  'use workflow';
  try {
    const slot = where === 'step' ? await acquireInStep(limit) : await acquireSlot(limit, timeout ? { timeout } : {});
    return { slot: slot.id, ...(where === 'step' ? {} : await releaseInStep(slot.id)) };
  } catch (error) {
    if (SlotTimeoutError.is(error)) return { timedOut: { limiter: error.limiter, timeout: error.timeout } };
    if (SlotLostError.is(error)) return { lost: error.state };
    if (MaitredError.is(error)) return { code: error.code, message: error.message };
    return { message: (error as Error).message };
  }
}

async function acquireInStep(limit: string) {
  'use step';
  return acquireSlot(limit);
}
acquireInStep.maxRetries = 0;

async function releaseInStep(slot: string) {
  'use step';
  return releaseSlot(slot);
}
