import { MaitredError } from '../errors.js';
import { takeSlot } from './slot.js';
import { releaseSlot } from './steps.js';

type Body = (...args: unknown[]) => Promise<unknown>;

/**
 * A run of a serial workflow: it waits for the one slot of its kind, and only then begins. The slot is held for as long
 * as the run lives: a run that is cancelled gives it up too, as soon as the limiter has asked how it stands.
 */
export async function runSerially(name: string, workflowId: string, args: unknown[]): Promise<unknown> {
  'use workflow';
  const slot = await takeSlot(`serial.${name}`, { timeout: '400d', hold: 'run', workflow: name });
  try {
    return await bodyOf(workflowId)(...args);
  } finally {
    await releaseSlot(slot.id);
  }
}

/** The engine keeps the bodies of all workflows in one bundle, by their ids. */
function bodyOf(workflowId: string): Body {
  const { __private_workflows: bodies } = globalThis as { __private_workflows?: Map<string, Body> };
  const body = bodies?.get(workflowId);
  if (!body) throw new MaitredError('not_found', `there is no workflow ${workflowId} in this build`);
  return body;
}
