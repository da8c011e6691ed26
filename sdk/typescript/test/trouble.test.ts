import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Maitred, MaitredError, SlotTimeoutError } from '../src/index.js';
import { TestLimiter } from '../src/testing/index.js';

const servers: http.Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.closeAllConnections() ?? server.close()));

/** Something that answers, but is no limiter. */
async function answering(handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const NOBODY = 'http://127.0.0.1:1';
const rate = [{ key: 'k', limit: 1, windowSeconds: 60 }];

describe('a limiter that cannot answer', () => {
  it('lets a rate call go on, unchecked', async () => {
    const decision = await new Maitred({ url: NOBODY }).rateLimit({ task: 't' }).consume(rate);
    expect(decision).toEqual({ type: 'rate', overLimit: false, retryAfterSeconds: 0, degraded: true, results: [] });
    const place = await new Maitred({ url: NOBODY }).rateLimit({ task: 't', run: 'r' }).acquire([{ key: 'k', limit: 1 }]);
    expect(place).toMatchObject({ type: 'concurrency', degraded: true });
  });

  it('is waited for no longer than the deadline', async () => {
    const url = await answering(() => undefined);
    const began = Date.now();
    const decision = await new Maitred({ url, deadlineMs: 200 }).rateLimit({ task: 't' }).consume(rate);
    expect(decision.degraded).toBe(true);
    expect(Date.now() - began).toBeLessThan(2_000);
  });

  it('is also one that something else answers for', async () => {
    for (const status of [200, 301, 404, 502]) {
      const url = await answering((_, response) => response.writeHead(status, { location: '/x' }).end('<html>'));
      expect((await new Maitred({ url }).rateLimit({ task: 't' }).consume(rate)).degraded).toBe(true);
    }
  });

  it('never gives a slot', async () => {
    const maitred = new Maitred({ url: NOBODY, patienceMs: 300 });
    await expect(maitred.acquire('voice-calls')).rejects.toMatchObject({ code: 'unknown', retryable: true });
    await expect(maitred.limits.list()).rejects.toMatchObject({ code: 'unavailable', outcome: 'refused' });
  });

  it('is asked again with the same id, so that nothing happens twice', async () => {
    const limiter = new TestLimiter();
    const lossy: typeof fetch = async (input, init) => {
      const answer = await limiter.fetch(input, init);
      lost += 1;
      if (lost % 2 === 1) throw new TypeError('fetch failed'); // done, but nobody hears of it
      return answer;
    };
    let lost = 1;
    const retries: string[] = [];
    const maitred = new Maitred({ fetch: lossy, onRetry: ({ code }) => retries.push(code) });
    await maitred.limits.declare('calls', { capacity: 1, maxHold: '1h' });
    const slot = await maitred.acquire('calls');
    expect(await slot.release()).toEqual({ released: true });
    expect(retries.length).toBeGreaterThan(0);
    expect((await maitred.limits.get('calls')).busy).toBe(0);
  });

  it('is waited for while it comes back', async () => {
    const limiter = new TestLimiter();
    const maitred = new Maitred({ fetch: limiter.fetch });
    await maitred.limits.declare('calls', { capacity: 1, maxHold: '1h' });
    limiter.goDown();
    const asked = maitred.acquire('calls');
    setTimeout(() => limiter.comeBack(), 200);
    expect((await asked).limiter).toBe('calls');
  });
});

describe('errors', () => {
  it('are known across copies of the module', async () => {
    const path = '../src/errors.ts?copy';
    const copy = (await import(/* @vite-ignore */ path)) as typeof import('../src/errors.js');
    const error = new copy.SlotTimeoutError('voice-calls', '1s');
    expect(error instanceof SlotTimeoutError).toBe(false);
    expect(SlotTimeoutError.is(error)).toBe(true);
    expect(MaitredError.is(error)).toBe(true);
    for (const odd of [undefined, null, 'SlotTimeoutError', new Error('x'), { get name() { throw new Error('odd'); } }]) {
      expect(SlotTimeoutError.is(odd)).toBe(false);
    }
  });

  it('say what they are after an engine has carried them', () => {
    const carried = Object.assign(new Error('none in time'), { name: 'SlotTimeoutError' });
    expect(SlotTimeoutError.is(carried)).toBe(true);
  });
});
