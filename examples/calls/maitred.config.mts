import { defineWorkspace } from 'maitred';

const workspace = defineWorkspace({
  limits: {
    'voice-calls': { capacity: 1, maxHold: '45m' },
    'partner-api': { capacity: 5, maxHold: '10m' },
  },
});

export default workspace;

// With this, the name of a limit that is not declared above does not compile.
declare module 'maitred' {
  interface Register {
    workspace: typeof workspace;
  }
}
