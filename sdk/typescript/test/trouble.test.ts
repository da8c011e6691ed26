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
    await expect(maitred.acquire('voice-calls')).rejects.toMatchObject({ code: 'unavailable', retryable: true });
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

/** A port of this machine at which nobody listens, and which `fetch` does ask. */
async function nobody(host = '127.0.0.1'): Promise<string> {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://${host}:${port}`;
}

async function failing(call: Promise<unknown>): Promise<{ error: MaitredError; ms: number }> {
  const began = Date.now();
  const error = await call.then(() => expect.fail('it should have failed'), (error: MaitredError) => error);
  return { error, ms: Date.now() - began };
}

describe('a caller that says how long', () => {
  it('waits no longer for a limiter that is away, and hears that nothing happened', async () => {
    const retries: number[] = [];
    const maitred = new Maitred({ url: await nobody(), onRetry: (_, delayMs) => retries.push(delayMs) });
    const { error, ms } = await failing(maitred.acquire('calls', { timeout: '1s' }));
    expect(error).toMatchObject({ code: 'unavailable', outcome: 'refused', retryable: true });
    expect(error.message).toContain('ECONNREFUSED');
    expect(ms).toBeGreaterThan(900);
    expect(ms).toBeLessThan(2_500);
    expect(retries.length).toBeGreaterThan(3);
    expect((await failing(maitred.acquire('calls', { timeout: 0 }))).ms).toBeLessThan(1_000);
    expect(await failing(new Maitred({ url: await nobody('localhost') }).acquire('calls', { timeout: 100 }))).toMatchObject({
      error: { code: 'unavailable', message: expect.stringContaining('ECONNREFUSED') },
    });
  });

  it('waits little longer for one that hangs, and hears that it may have happened', async () => {
    const maitred = new Maitred({ url: await answering(() => undefined), deadlineMs: 400 });
    const { error, ms } = await failing(maitred.acquire('calls', { timeout: '1s' }));
    expect(error).toMatchObject({ code: 'unknown', outcome: 'unknown' });
    expect(ms).toBeLessThan(4_000);
  });

  it('is heard in every call that is made again', async () => {
    const worlds = [[await nobody(), 'refused'], [await answering(() => undefined), 'unknown']] as const;
    for (const [url, outcome] of worlds) {
      const maitred = new Maitred({ url, patienceMs: 400 });
      const calls = [
        () => maitred.slots.confirm('s'),
        () => maitred.slots.ask('calls'),
        () => maitred.release('s'),
        () => maitred.limits.declare('calls', { capacity: 1, maxHold: '1h' }),
        () => maitred.runs.end('r', 'succeeded'),
      ];
      for (const call of calls) {
        const { error, ms } = await failing(call());
        expect(error).toMatchObject({ outcome });
        expect(ms).toBeLessThan(2_500);
      }
      const { error, ms } = await failing(maitred.slots.get('s'));
      expect(error).toMatchObject({ code: 'unavailable', outcome: 'refused' });
      expect(ms).toBeLessThan(2_500);
    }
  });

  it('is told of an earlier try that may have been heard', async () => {
    let asked = 0;
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
    const fetch: typeof globalThis.fetch = () => {
      asked += 1;
      return Promise.reject(new TypeError('fetch failed', asked === 1 ? {} : { cause: refused }));
    };
    for (const call of ['release', 'acquire'] as const) {
      asked = 0;
      const { error } = await failing(new Maitred({ fetch, patienceMs: 300 })[call]('calls'));
      expect(error).toMatchObject({ code: 'unknown', outcome: 'unknown', message: expect.stringContaining('an earlier try') });
    }
  });
});

describe('what can never work', () => {
  it('is refused at once: an address that is none', () => {
    for (const url of ['nonsense', '', '127.0.0.1:7654', 'localhost:7654', 'ftp://host', 'http://', 'http://host:99999']) {
      const wrong = expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining('allowed: http://HOST:PORT') });
      expect(() => new Maitred({ url })).toThrow(wrong);
    }
    expect(new Maitred({ url: 'https://host/limiter/' }).url).toBe('https://host/limiter');
  });

  it('does not tell a secret on', async () => {
    for (const options of [{ url: 'http://me:secret@host' }, { url: 'host?secret@' }, { token: 'secret\n' }]) {
      const make = () => new Maitred(options);
      expect(make).toThrow(expect.objectContaining({ code: 'invalid_argument', message: expect.not.stringContaining('secret') }));
    }
    const limits = new Maitred({ url: NOBODY }).rateLimit({ task: 't' });
    await expect(limits.consume(rate, { id: 'ключ' })).rejects.toMatchObject({ code: 'invalid_argument' });
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
