// workflows/call-ended.workflow.ts (workflow B)
import { z } from 'zod';
import { releaseSlot } from 'maitred/workflow';

export const inputSchema = z.object({ slotId: z.string() });
export const outputSchema = z.object({ released: z.boolean() });

export async function callEndedWorkflow(input: { slotId: string }) {
  'use workflow';
  return releaseSlot(input.slotId);
}
