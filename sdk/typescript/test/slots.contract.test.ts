import { describe, expect, it } from 'vitest';
import { SlotExpiredError, SlotLostError, SlotTimeoutError } from '../src/index.js';
import { eventually, WORLDS, type World } from './support/worlds.js';

describe.each(WORLDS)('slots of %s', (_, make) => {
  async function full(): Promise<World & { held: string }> {
    const world = make();
    await world.maitred.limits.declare('voice-calls', { capacity: 1, maxHold: '45m' });
    const held = (await world.maitred.acquire('voice-calls', { label: 'call-1' })).detach();
    return { ...world, held };
  }

  const waiting = (world: World, count: number) =>
    eventually(`${count} wait`, async () => (await world.maitred.limits.get('voice-calls')).waiting === count);

  it('is had at once where there is room, and given back', async () => {
    const { maitred } = make();
    await maitred.limits.declare('voice-calls', { capacity: 2, maxHold: '45m' });
    const slot = await maitred.acquire('voice-calls', { label: 'call-1', run: 'run-1' });
    expect(slot.limiter).toBe('voice-calls');
    expect(await maitred.limits.get('voice-calls')).toMatchObject({ capacity: 2, busy: 1, available: 1, max_hold_ms: 2_700_000 });
    const { holders } = await maitred.limits.slots('voice-calls');
    expect(holders).toMatchObject([{ slot: slot.id, label: 'call-1', run: 'run-1', state: 'busy', fence: slot.fence }]);
    expect(await slot.release()).toEqual({ released: true });
    expect(await slot.release()).toEqual({ released: false });
    expect((await maitred.slots.get(slot.id)).state).toBe('released');
  });

  it('is handed on in the order in which it was asked for', async () => {
    const world = await full();
    const order: string[] = [];
    const asked = ['b', 'c'].map(async (label, index) => {
      await waiting(world, index);
      const slot = await world.maitred.acquire('voice-calls', { label });
      order.push(label);
      await slot.release();
    });
    await waiting(world, 2);
    expect(await world.maitred.release(world.held)).toEqual({ released: true });
    await Promise.all(asked);
    expect(order).toEqual(['b', 'c']);
  });

  it('times out by the clock of the limiter', async () => {
    const world = await full();
    const asked = world.maitred.acquire('voice-calls', { timeout: '30m' }).catch((error: unknown) => error);
    await waiting(world, 1);
    await world.advance('30m');
    const error = await asked;
    expect(SlotTimeoutError.is(error)).toBe(true);
    expect(error).toMatchObject({ limiter: 'voice-calls', timeout: '30m', code: 'slot_timeout', retryable: false });
    await expect(world.maitred.acquire('voice-calls', { timeout: 0 })).rejects.toThrow(SlotTimeoutError);
  });

  it('is taken back at the max hold', async () => {
    const world = await full();
    await world.advance('45m');
    expect((await world.maitred.slots.get(world.held)).state).toBe('expired');
    expect(await world.maitred.release(world.held)).toEqual({ released: false });
  });

  it('is given back when the work is done, and when it throws', async () => {
    const { maitred } = make();
    await maitred.limits.declare('partner-api', { capacity: 1, maxHold: '1m' });
    expect(await maitred.withLimit('partner-api', ({ slot }) => slot.limiter)).toBe('partner-api');
    const failing = maitred.withLimit('partner-api', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect((await maitred.limits.get('partner-api')).busy).toBe(0);
  });

  it('leaves the queue when its caller gives up', async () => {
    const world = await full();
    const giveUp = new AbortController();
    const asked = world.maitred.acquire('voice-calls', { signal: giveUp.signal });
    await waiting(world, 1);
    giveUp.abort(new Error('not any more'));
    await expect(asked).rejects.toThrow('not any more');
    await waiting(world, 0);
  });

  it('is lost when somebody takes it out of the queue', async () => {
    const world = await full();
    const asked = world.maitred.acquire('voice-calls').catch((error: unknown) => error);
    await waiting(world, 1);
    const { queue } = await world.maitred.limits.slots('voice-calls');
    await world.maitred.slots.leave(queue[0]!.slot);
    expect(SlotLostError.is(await asked)).toBe(true);
  });

  it('is reserved until a holder that is not on the line confirms', async () => {
    const world = await full();
    const asked = { slot: crypto.randomUUID(), run: 'run-7', timeout: '1h' };
    expect(await world.maitred.slots.ask('voice-calls', asked)).toMatchObject({ state: 'queued', place: 1 });
    expect(await world.maitred.slots.ask('voice-calls', asked)).toMatchObject({ state: 'queued', place: 1 });
    await expect(world.maitred.slots.ask('voice-calls', { ...asked, timeout: '2h' })).rejects.toMatchObject({ code: 'conflict' });
    await world.maitred.release(world.held);
    expect((await world.maitred.slots.get(asked.slot)).state).toBe('reserved');
    await world.maitred.slots.ask('voice-calls', { slot: 'late', run: 'run-8' });
    await world.advance('2m'); // it lapses, goes to the end, and the next has it
    expect((await world.maitred.slots.confirm(asked.slot)).state).toBe('queued');
    expect((await world.maitred.slots.confirm('late')).state).toBe('busy');
    await world.maitred.runs.end('run-7', 'cancelled');
    expect((await world.maitred.slots.get(asked.slot)).state).toBe('run_ended');
    await world.maitred.runs.end('run-8', 'failed');
    expect((await world.maitred.slots.get('late')).state).toBe('busy');
  });

  it('is freed with its run if it is held for it', async () => {
    const { maitred } = make();
    await maitred.limits.declare('serial.x', { capacity: 1, maxHold: '30d' });
    await maitred.slots.ask('serial.x', { slot: 's', run: 'run-1', hold: 'run' });
    await maitred.slots.confirm('s');
    expect((await maitred.runs.get('run-1')).slots).toMatchObject([{ slot: 's', state: 'busy', hold: 'run' }]);
    await maitred.runs.end('run-1', 'succeeded');
    expect((await maitred.slots.get('s')).state).toBe('run_ended');
  });

  it('may stand in several limits at once', async () => {
    const { maitred } = make();
    await maitred.limits.declare('a', { capacity: 2, maxHold: '1m' });
    await maitred.limits.declare('b', { capacity: 3, maxHold: '2m' });
    const slot = await maitred.acquire({ a: 1, b: 2 });
    expect((await maitred.limits.get('b')).busy).toBe(2);
    const before = (await maitred.limits.get('a')).as_of;
    expect(slot.expiresAt - before).toBeLessThanOrEqual(60_000);
    await slot[Symbol.asyncDispose]();
    expect((await maitred.limits.get('a')).busy).toBe(0);
  });

  it('has room when an operator makes some', async () => {
    const world = await full();
    const asked = world.maitred.acquire('voice-calls');
    await waiting(world, 1);
    expect(await world.maitred.limits.setCapacity('voice-calls', 2)).toMatchObject({ capacity: 2, declared_capacity: 1 });
    await (await asked).release();
    await world.maitred.limits.resetCapacity('voice-calls');
    await world.maitred.limits.pause('voice-calls');
    await world.maitred.release(world.held);
    await expect(world.maitred.acquire('voice-calls', { timeout: 0 })).rejects.toThrow(SlotTimeoutError);
    expect((await world.maitred.limits.resume('voice-calls')).paused).toBe(false);
    await world.maitred.limits.setMaxHold('voice-calls', '1s');
    expect((await world.maitred.limits.resetMaxHold('voice-calls')).max_hold_ms).toBe(2_700_000);
  });

  it('is of a limit that was declared rightly', async () => {
    const { maitred } = make();
    await expect(maitred.acquire('none')).rejects.toMatchObject({ code: 'limit_not_found', status: 404, outcome: 'refused' });
    const declared = (capacity: number, maxHold: string) => maitred.limits.declare('x', { capacity, maxHold });
    await expect(declared(0, '1m')).rejects.toMatchObject({ code: 'invalid_capacity' });
    await expect(declared(1, '31d')).rejects.toMatchObject({ code: 'invalid_max_hold' });
    await maitred.limits.deploy({ x: { capacity: 1, maxHold: '1m' }, y: { capacity: 1, maxHold: 5000 } });
    await expect(maitred.acquire('x', { weight: 2 })).rejects.toMatchObject({ code: 'never_fits' });
    await maitred.limits.deploy({ y: { capacity: 4, maxHold: 5000 } });
    expect((await maitred.limits.list()).map(({ limit, capacity }) => [limit, capacity])).toEqual([['y', 4]]);
  });

  it('tells its holder when it expires', async () => {
    const { maitred } = make();
    await maitred.limits.declare('short', { capacity: 1, maxHold: '150ms' });
    const reason = await maitred.withLimit('short', ({ signal }) => {
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
    });
    expect(SlotExpiredError.is(reason)).toBe(true);
  });
});
