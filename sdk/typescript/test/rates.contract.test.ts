import { describe, expect, it } from 'vitest';
import { RateLimitExceededError } from '../src/index.js';
import { WORLDS } from './support/worlds.js';

describe.each(WORLDS)('rates and places of %s', (_, make) => {
  const perMinute = (limit: number) => ({ key: 'user=7', limit, windowSeconds: 60 });

  it('passes so many in a window, and then refuses', async () => {
    const { maitred, advance } = make();
    const limits = maitred.rateLimit({ task: 't', run: 'r' });
    const first = await limits.consume([perMinute(2)]);
    expect(first).toEqual({
      type: 'rate',
      overLimit: false,
      retryAfterSeconds: 0,
      degraded: false,
      results: [{ limit: 2, used: 1, remaining: 1, resetSeconds: 60, over: false }],
    });
    await limits.consume([perMinute(2)]);
    await advance('18s');
    const refused = await limits.consume([{ ...perMinute(2), label: 'free_tries' }]).catch((error: unknown) => error);
    if (!RateLimitExceededError.is(refused)) throw refused;
    expect(refused.body).toMatchObject({
      status: 'error',
      reason: 'rate_limit_exceeded',
      details: { retryAfterSeconds: 42, limit: 2, label: 'free_tries' },
    });
    expect(refused.toResponse().headers.get('retry-after')).toBe('42');
    await advance('42s');
    expect((await limits.consume([perMinute(2)])).overLimit).toBe(false);
  });

  it('counts all of a call or nothing', async () => {
    const { maitred } = make();
    const limits = maitred.rateLimit({ task: 't' });
    const specs = [perMinute(5), { key: 'global', limit: 1, windowSeconds: 60 }];
    await limits.consume(specs);
    const over = await limits.consume(specs, { enforce: false });
    expect(over).toMatchObject({ overLimit: true, blockedBy: 1, results: [{ used: 1, over: false }, { used: 1, over: true }] });
  });

  it('gives a hit back when only successes count', async () => {
    const { maitred } = make();
    const of = (run: string) => maitred.rateLimit({ task: 't', run });
    const spec = { ...perMinute(1), countSuccessesOnly: true };
    await of('a').consume([spec]);
    await expect(of('b').consume([spec])).rejects.toThrow(RateLimitExceededError);
    await maitred.runs.end('a', 'failed');
    await of('b').consume([spec]);
    await maitred.runs.end('b', 'succeeded');
    expect((await of('c').check([spec])).overLimit).toBe(true);
  });

  it('takes one place in flight for a run', async () => {
    const { maitred, advance } = make();
    const of = (run: string) => maitred.rateLimit({ task: 't', run });
    const spec = { key: 'user=7', limit: 1, label: 'one_at_a_time' };
    expect((await of('a').acquire([spec])).type).toBe('concurrency');
    expect((await of('a').acquire([spec])).overLimit).toBe(false);
    const refused = await of('b').acquire([spec]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'concurrency_limit_exceeded', body: { details: { retryAfterSeconds: null } } });
    await maitred.runs.end('a', 'cancelled');
    await of('b').acquire([spec]);
    await advance('1h');
    expect((await of('c').check([spec])).overLimit).toBe(false);
  });

  it('names concurrency when both kinds block', async () => {
    const { maitred } = make();
    const of = (run: string) => maitred.rateLimit({ task: 't', run });
    const specs = [perMinute(1), { key: 'user=7', limit: 1 }];
    await of('a').admit(specs);
    const over = await of('b').admit(specs, { enforce: false });
    expect(over).toMatchObject({ type: 'concurrency', overLimit: true, retryAfterSeconds: 0, blockedBy: 1 });
    const own = new RateLimitExceededError(over, 'acquire');
    expect(own.body.reason).toBe('concurrency_limit_exceeded');
  });

  it('counts a redelivered message once', async () => {
    const { maitred } = make();
    const limits = maitred.rateLimit({ task: 't' });
    await limits.consume([perMinute(2)], { id: 'message-1' });
    await limits.consume([perMinute(2)], { id: 'message-1' });
    expect(await limits.check([perMinute(2)])).toMatchObject({ overLimit: false, results: [{ used: 2 }] });
    await expect(limits.consume([perMinute(3)], { id: 'message-1' })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('refuses what can not be decided', async () => {
    const { maitred } = make();
    const wrong = maitred.rateLimit({ task: 't' });
    await expect(wrong.consume([{ ...perMinute(1), key: 'a b' }])).rejects.toMatchObject({ code: 'invalid_key' });
    await expect(wrong.acquire([{ key: 'k', limit: 1 }])).rejects.toMatchObject({ code: 'invalid_run' });
  });
});
