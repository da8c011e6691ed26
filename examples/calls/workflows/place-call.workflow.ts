// workflows/place-call.workflow.ts (workflow A)
import { z } from 'zod';
import { acquireSlot, SlotTimeoutError } from 'maitred/workflow';

export const inputSchema = z.object({ callId: z.string() });
export const outputSchema = z.object({ slotId: z.string().nullable() });

export async function placeCallWorkflow(input: { callId: string }) {
  'use workflow';
  try {
    const slot = await acquireSlot('voice-calls', { label: input.callId, timeout: '30m' });
    await dialOut(input.callId, slot.id); // the provider reports back with slot.id
    return { slotId: slot.id };
  } catch (error) {
    if (SlotTimeoutError.is(error)) return { slotId: null }; // no slot free in 30 minutes
    throw error;
  }
}

async function dialOut(callId: string, slotId: string) {
  'use step';
  // Start the call and pass slotId along, so the "call ended" event carries it.
}
