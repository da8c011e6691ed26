/**
 * The steps of a run that takes slots. Their names, what they take and what they answer are written down in the logs
 * of runs that wait: see `scripts/build.mjs` for how their identity is kept.
 */
import { FatalError, RetryableError, getStepMetadata, getWorkflowMetadata } from 'workflow';
import { MaitredError } from '../errors.js';
import { Http } from '../http.js';
import type { ReleaseAnswer, SlotAnswer, SlotState } from '../wire.js';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 300_000;
/** The engine gives a step 48 deliveries at most. With the delays above, these reach over two hours. */
const RETRIES = 40;

export interface AcquireInput {
  slot: string;
  limit: string;
  timeoutMs: number;
  label?: string;
  workflow?: string;
  hold?: 'run';
}

/** How a slot stands; or why there is none, since an error that leaves a step keeps its message only. */
export type Standing = { state: SlotState } | { refused: { code: string; message: string } };

/** Asks for a slot and does not wait. The id makes a retry the same slot. */
export async function acquireStep({ slot, limit, timeoutMs, ...fields }: AcquireInput): Promise<Standing> {
  'use step';
  const { workflowRunId: run, workflowName } = getWorkflowMetadata();
  const workflow = fields.workflow ?? shortName(workflowName);
  const body = { slot, limit, run, timeout: timeoutMs, ...fields, workflow };
  return standing(slot, () => limiter().askOnce<SlotAnswer>('POST', '/v1/slots', { body }));
}
acquireStep.maxRetries = RETRIES;

/** Makes a reserved slot busy, now that the run has it on record, and answers how it then stands. */
export async function confirmStep(slot: string): Promise<Standing> {
  'use step';
  return standing(slot, () => limiter().askOnce<SlotAnswer>('POST', `/v1/slots/${slot}/confirm`));
}
confirmStep.maxRetries = RETRIES;

/**
 * Gives a slot back, from a workflow's body or from a step. A second time, or after its max hold, it answers
 * `{ released: false }` and changes nothing.
 */
export async function releaseSlot(slotId: string): Promise<{ released: boolean }> {
  'use step';
  const path = `/v1/slots/${encodeURIComponent(slotId)}/release`;
  // As a step of its own it has one id for all tries: a retry whose answer was lost answers what the first one did.
  const { stepName, stepId } = getStepMetadata();
  const id = shortName(stepName) === 'releaseSlot' ? stepId : undefined;
  const answer = await settled(() => limiter().askOnce<ReleaseAnswer>('POST', path, { id }));
  if (MaitredError.is(answer)) throw new FatalError(answer.message);
  return { released: answer.released };
}
releaseSlot.maxRetries = RETRIES;

async function standing(slot: string, ask: () => Promise<SlotAnswer>): Promise<Standing> {
  const answer = await settled(ask);
  if (!MaitredError.is(answer)) return { state: answer.state };
  // The limiter has forgotten an id this old, so there is no slot of it: its time is up.
  if (answer.code === 'too_old') return { state: 'timed_out' };
  return { refused: { code: answer.code, message: `slot ${slot}: ${answer.message}` } };
}

/** An answer or a refusal. What may pass is tried again by the engine. */
async function settled<T>(ask: () => Promise<T>): Promise<T | MaitredError> {
  try {
    return await ask();
  } catch (error) {
    if (!MaitredError.is(error)) throw error;
    // What the limiter did not say itself, such as that MAITRED_URL is none, ends no run: an operator can mend it.
    if (!error.retryable && error.code !== 'internal' && error.status !== undefined) return error;
    const retryAfter = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (getStepMetadata().attempt - 1));
    throw new RetryableError(error.message, { retryAfter });
  }
}

/** The run acts, and the limiter's record says so. */
const limiter = () => new Http({ by: getWorkflowMetadata().workflowRunId });

/** `placeCallWorkflow` of `workflow//./workflows/place-call.workflow//placeCallWorkflow`. */
const shortName = (name: string) => name.split('//').at(-1) ?? name;
