import { describe, expect, it } from 'vitest';
import { milliseconds, shown } from '../src/duration.js';
import { defineWorkspace } from '../src/index.js';
import { limitsOf } from '../src/workspace.js';

const message = (define: () => unknown): string => {
  try {
    define();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was wrong';
};

describe('a workspace', () => {
  it('is what the document shows', () => {
    const workspace = defineWorkspace({ limits: { 'voice-calls': { capacity: 20, maxHold: '45m' } } });
    expect(workspace.limits['voice-calls']).toEqual({ capacity: 20, maxHold: '45m' });
    expect(workspace.workflows).toBeUndefined();
    const name: 'voice-calls' = Object.keys(workspace.limits)[0] as keyof typeof workspace.limits;
    // @ts-expect-error: a misspelt limit does not compile
    void workspace.limits['voice-cals'];
    expect(name).toBe('voice-calls');
  });

  it('names the limit and the field that is wrong', () => {
    const limit = (fields: object) => message(() => defineWorkspace({ limits: { calls: fields as never } }));
    expect(limit({ capacity: 1 })).toContain('limit `calls`: maxHold: nothing is no duration');
    expect(limit({ capacity: 1, maxHold: '31d' })).toContain('limit `calls`: maxHold: "31d"');
    expect(limit({ capacity: 1, maxHold: '1.5h' })).toContain('maxHold');
    expect(limit({ capacity: 1, maxHold: 0 })).toContain('maxHold');
    for (const capacity of [0, -1, 1.5, 100_001, '20', undefined]) {
      expect(limit({ capacity, maxHold: '1m' })).toContain('limit `calls`: capacity: ');
    }
    expect(limit({ capacity: 1, maxHold: '1m', maxhold: 1 })).toContain('limit `calls`: maxhold: there is no such field');
    for (const name of ['Voice', 'a b', '', 'x'.repeat(65), 'serial.x']) {
      const wrong = message(() => defineWorkspace({ limits: { [name]: { capacity: 1, maxHold: '1m' } } }));
      expect(wrong).toContain(`limit \`${name}\`: name: `);
    }
    expect(message(() => defineWorkspace({ limit: {} } as never))).toContain('the workspace: limit: there is no such field');
  });

  it('has a limit for each serial workflow', () => {
    const workflows = [{ name: 'place-call', serial: true }, { name: 'call-ended' }];
    const workspace = defineWorkspace({ limits: { calls: { capacity: 2, maxHold: 5000 } }, workflows });
    expect(limitsOf(workspace)).toEqual({
      calls: { capacity: 2, maxHold: 5000 },
      'serial.place-call': { capacity: 1, maxHold: '30d' },
    });
    for (const name of ['placeCall', 'x'.repeat(58)]) {
      const wrong = message(() => defineWorkspace({ workflows: [{ name, serial: true }] }));
      expect(wrong).toContain(`workflow \`${name}\`: name: `);
    }
    const twice = message(() => defineWorkspace({ workflows: [{ name: 'a' }, { name: 'a' }] }));
    expect(twice).toContain('workflow `a`: name: it is listed twice');
  });
});

describe('durations', () => {
  it('are written largest first, each unit once, or in milliseconds', () => {
    const good = { '45m': 2_700_000, '1h30m': 5_400_000, '90s': 90_000, '500ms': 500, '30d': 2_592_000_000, '250': 250 };
    for (const [text, ms] of Object.entries(good)) expect(milliseconds(text)).toBe(ms);
    for (const bad of ['', 'm', '1.5h', '30m1h', '1h1h', '-1s', '1 h', '1H', -1, 1.5, NaN, null, {}]) {
      expect(milliseconds(bad)).toBeUndefined();
    }
    expect([shown(129_600_000), shown(0), shown(1_001)]).toEqual(['1d12h', '0ms', '1s1ms']);
  });
});
