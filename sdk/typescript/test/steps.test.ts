/** What a step of a run does with an answer that did not come. The engine itself is in the end-to-end tests. */
import { afterEach, expect, it, vi } from 'vitest';
import { releaseSlot, confirmStep } from '../src/durable/steps.js';

vi.mock('workflow', () => ({
  FatalError: class FatalError extends Error {},
  RetryableError: class RetryableError extends Error {
    override name = 'RetryableError';
  },
  getStepMetadata: () => ({ attempt: 1, stepId: 'step', stepName: 'step//x//releaseSlot' }),
  getWorkflowMetadata: () => ({ workflowRunId: 'run', workflowName: 'workflow//x//y' }),
}));

afterEach(() => vi.unstubAllEnvs());

it('a run outlives a wrong MAITRED_URL, which an operator can mend', async () => {
  for (const url of ['nonsense', 'http://127.0.0.1:1']) {
    vi.stubEnv('MAITRED_URL', url);
    await expect(confirmStep('slot')).rejects.toMatchObject({ name: 'RetryableError' });
    await expect(releaseSlot('slot')).rejects.toMatchObject({ name: 'RetryableError' });
  }
});
