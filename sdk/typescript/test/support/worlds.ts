/** The two limiters that must behave alike: the double, and the server. */
import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { Maitred } from '../../src/index.js';
import { milliseconds, type Duration } from '../../src/duration.js';
import { TestLimiter } from '../../src/testing/index.js';

export interface World {
  maitred: Maitred;
  advance(by: Duration): Promise<void>;
}

export const WORLDS: [string, () => World][] = [
  ['the double', double],
  ['the server', server],
];

function double(): World {
  const limiter = new TestLimiter();
  return {
    maitred: new Maitred({ url: 'http://double', fetch: limiter.fetch }),
    advance: async (by) => limiter.advance(by),
  };
}

/** A namespace of its own: nothing in it ever meets another test. */
function server(): World {
  const url = inject('url');
  return {
    maitred: new Maitred({ url, agent: `test-${randomUUID()}` }),
    advance: async (by) => {
      const body = JSON.stringify({ advance: milliseconds(by) });
      const headers = { 'content-type': 'application/json' };
      const moved = await fetch(`${url}/v1/clock`, { method: 'POST', body, headers });
      if (!moved.ok) throw new Error(await moved.text());
    },
  };
}

/** Asks until it is so, for a few seconds. */
export async function eventually(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tried = 0; tried < 200; tried += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${what}: not within 5 s`);
}
