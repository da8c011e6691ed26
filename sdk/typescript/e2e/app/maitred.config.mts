import { defineWorkspace } from 'maitred';

const one = { capacity: 1, maxHold: '45m' };

export default defineWorkspace({
  limits: { 'voice-calls': one, 'partner-api': one, probe: one },
  workflows: [
    { name: 'place-call' },
    { name: 'call-ended' },
    { name: 'export-report' },
    { name: 'probe' },
    { name: 'one-by-one', serial: true },
  ],
});
