import { acquireSlot, MaitredError, releaseSlot, SlotLostError, SlotTimeoutError } from 'maitred/workflow';

/** Tells what came of an acquire, or of one where it may not be made. */
export async function probeWorkflow({ limit, timeout, where = 'body' }: { limit: string; timeout?: string; where?: string }) {
  'use workflow';
  try {
    const slot = where === 'step' ? await acquireInStep(limit) : await acquireSlot(limit, timeout ? { timeout } : {});
    return { slot: slot.id, released: await releaseInStep(slot.id) };
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

/** Twice: a second time is no first one, in a step of somebody else too. */
async function releaseInStep(slot: string) {
  'use step';
  const first = await releaseSlot(slot);
  const second = await releaseSlot(slot);
  return [first.released, second.released];
}
