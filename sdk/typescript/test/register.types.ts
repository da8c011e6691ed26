// Compiled by the test of the README: a misspelt limit does not.
import { defineWorkspace, Maitred } from 'maitred';
import { acquireSlot } from 'maitred/workflow';

const workspace = defineWorkspace({ limits: { 'voice-calls': { capacity: 20, maxHold: '45m' } } });

declare module 'maitred' {
  interface Register {
    workspace: typeof workspace;
  }
}

export async function typed(): Promise<void> {
  await acquireSlot('voice-calls');
  // @ts-expect-error: there is no such limit
  await acquireSlot('voice-cals');
  // @ts-expect-error: nor for the client
  await new Maitred().acquire('voice-cals');
}
