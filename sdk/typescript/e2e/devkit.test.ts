/** The seed's programs on the real engine against the real server, over kills of both. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { edit, example } from './support/folder.js';
import { eventually } from './support/process.js';
import { Rig } from './support/rig.js';

const MINUTE_MS = 60_000;
const LAPSE_MS = 2 * MINUTE_MS;

let rig: Rig;
beforeAll(async () => {
  rig = await Rig.start({ isManual: true });
});
afterAll(() => rig?.stop());

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.log(rig.app.said, rig.server.said);
  for (const { limit } of await rig.maitred.limits.list()) {
    const { holders, queue } = await rig.maitred.limits.slots(limit);
    for (const { slot } of queue) await rig.maitred.slots.leave(slot);
    for (const { slot } of holders) await rig.maitred.release(slot);
  }
});

/** One call holds the line, and one waits for it. */
async function waiting(): Promise<{ held: string; run: string; slot: string }> {
  const first = (await rig.output(await rig.start('place-call', { callId: 'first' }))) as { slotId: string };
  const run = await rig.start('place-call', { callId: 'second' });
  const slot = await rig.slotOf(run, 'queued');
  // The engine has the hook on record: from here on both may die.
  await eventually('it waits on its hook', async () => rig.hasHook(slot));
  return { held: first.slotId, run, slot };
}

const callEnded = async (slotId: string) => rig.output(await rig.start('call-ended', { slotId }));

/** What the README tells a newcomer to type. */
const blocks = [...readFileSync(join(example, 'README.md'), 'utf8').matchAll(/```sh\n([^]*?)```/g)].map(([, text]) => text!);
const commands = (words: string) => blocks.find((block) => block.includes(words))!.trim().split('\n');

describe('the README of the example', () => {
  /** Typed as it stands there, at the ports that are free here. */
  it('shows a call that waits for another, and goes on when that ends', async () => {
    const [first, second, slots, hooks] = commands('limits slots voice-calls') as [string, string, string, string];
    await rig.type(first);
    const held = await eventually('the first call has the line', async () => /busy\s+(\S+)/.exec(await rig.type(slots))?.[1]);
    const { run } = JSON.parse(await rig.type(second)) as { run: string };
    await eventually('the second waits', async () => /queued.*call-82/.test(await rig.type(slots)));
    expect(await rig.type(slots)).toMatch(/busy.*call-81/);
    expect(await eventually('so the engine says', () => rig.type(hooks))).toContain('Esperando hueco · voice-calls');

    const [ended, look] = commands('call-ended') as [string, string];
    await rig.type(ended.replace('SLOT', held));
    const seen = await eventually('it goes on', async () => {
      const answer = await rig.type(look.replace('RUN', run));
      return answer.includes('completed') && answer;
    });
    expect(JSON.parse(seen)).toMatchObject({ run, status: 'completed', output: { slotId: expect.stringMatching(/^[0-9a-f-]+$/) } });
    expect(await rig.type(slots)).toMatch(/busy.*call-82/);
  });
});

describe('the example', () => {
  it('starts nothing on a request that is wrong, and says what is', async () => {
    const answers = [
      ['place-call', '{"foo":1}', 400, 'callId'],
      ['place-call', '{"callId":81}', 400, 'callId'],
      ['place-call', 'callId=81', 400, 'not JSON'],
      ['place-call', '', 400, 'not JSON'],
      ['no-such', '{}', 404, 'place-call'],
    ] as const;
    for (const [workflow, body, status, word] of answers) {
      const answer = await rig.post(workflow, body);
      expect(answer.status).toBe(status);
      expect(((await answer.json()) as { error: string }).error).toContain(word);
    }
    expect((await rig.maitred.limits.get('voice-calls')).busy).toBe(0);
  });
});

describe('a call that waits for another', () => {
  it('goes on when the other workflow gives the slot back', async () => {
    const { held, run, slot } = await waiting();
    expect((await rig.run(run)).status).toBe('running');
    expect(await rig.devkit('inspect', 'hooks', '--runId', run, '--json')).toContain(`Esperando hueco · voice-calls · ${slot}`);
    expect(await rig.cli('limits', 'slots', 'voice-calls')).toMatch(new RegExp(`queued.*${slot}.*${run}.*second`));
    expect(await callEnded(held)).toEqual({ released: true });
    expect(await rig.output(run)).toEqual({ slotId: slot });
    expect(await callEnded(held)).toEqual({ released: false });
    expect([...rig.provider.dialled.get('second')!]).toEqual([slot]);
  });

  it('goes on although its app was killed, and was not there at the grant', async () => {
    const { held, run, slot } = await waiting();
    await rig.app.kill();
    await rig.maitred.release(held);
    expect((await rig.maitred.slots.get(slot)).state).toBe('reserved');
    await rig.app.start();
    expect(await rig.output(run)).toEqual({ slotId: slot });
  });

  it('goes on although the server was killed', async () => {
    const { held, run, slot } = await waiting();
    await rig.server.kill();
    await rig.server.start();
    expect(await callEnded(held)).toEqual({ released: true });
    expect(await rig.output(run)).toEqual({ slotId: slot });
  });

  it('is asked for over an outage of the server, and once', async () => {
    await rig.server.kill();
    const run = await rig.start('place-call', { callId: 'during-outage' });
    await rig.server.start();
    const { slotId } = (await rig.output(run)) as { slotId: string };
    expect((await rig.maitred.limits.slots('voice-calls')).holders.map(({ slot }) => slot)).toEqual([slotId]);
  });

  it('gives up after its timeout', async () => {
    const { run } = await waiting();
    await rig.advance(30 * MINUTE_MS);
    expect(await rig.output(run)).toEqual({ slotId: null });
  });

  it('lets the next one in when it is cancelled in the queue', async () => {
    const { held, run, slot } = await waiting();
    const third = await rig.start('place-call', { callId: 'third' });
    await rig.slotOf(third, 'queued');
    await rig.cancel(run);
    await rig.maitred.release(held);
    const { slotId } = (await rig.output(third)) as { slotId: string };
    expect((await rig.maitred.slots.get(slot)).state).toBe('run_ended');
    expect((await rig.maitred.slots.get(slotId)).state).toBe('busy');
  });

  it('leaves the queue when it is cancelled, although its engine tells nobody', async () => {
    const { run, slot } = await waiting();
    await rig.devkit('cancel', run);
    await eventually('it is out', async () => (await rig.maitred.slots.get(slot)).state === 'run_ended', 25_000);
  });

  it('gives up what was just picked for it when it is cancelled', async () => {
    const { held, run, slot } = await waiting();
    await rig.app.kill();
    await rig.maitred.release(held);
    expect((await rig.maitred.slots.get(slot)).state).toBe('reserved');
    await rig.devkit('cancel', run);
    await rig.app.start();
    await eventually('it is out', async () => (await rig.maitred.slots.get(slot)).state === 'run_ended', 25_000);
    expect((await rig.maitred.limits.get('voice-calls')).available).toBe(1);
  });

  it('goes to the end of the queue when it confirms too late, and has its turn there', async () => {
    const { held, run, slot } = await waiting();
    await rig.app.kill();
    await rig.maitred.release(held);
    await rig.maitred.slots.ask('voice-calls', { slot: 'another', run: 'by-hand' });
    await rig.advance(LAPSE_MS);
    expect((await rig.maitred.slots.confirm('another')).state).toBe('busy');
    await rig.app.start();
    await rig.slotOf(run, 'queued');
    await rig.maitred.release('another');
    expect(await rig.output(run)).toEqual({ slotId: slot });
  });

  it('is not moved by wakes that come twice, or in vain', async () => {
    const { held, run, slot } = await waiting();
    const wakes = await Promise.all([1, 2, 3].map(() => rig.wake(slot, 'voice-calls', run)));
    expect(wakes).toEqual([200, 200, 200]);
    expect((await rig.run(run)).status).toBe('running');
    expect((await rig.maitred.slots.get(slot)).state).toBe('queued');
    await rig.maitred.release(held);
    expect(await rig.output(run)).toEqual({ slotId: slot });
    expect(await rig.wake(slot, 'voice-calls', run)).toBe(410);
  });

  it('survives a patch release of the package', async () => {
    const { held, run, slot } = await waiting();
    await rig.app.kill();
    edit(join(rig.folder, 'node_modules/maitred/package.json'), '"version": "0.1.0"', '"version": "0.1.1"');
    const built = await rig.devkit('build');
    expect(built).not.toContain('Failed');
    const manifest = readFileSync(join(rig.folder, '.well-known/workflow/v1/manifest.json'), 'utf8');
    for (const step of ['acquireStep', 'confirmStep', 'releaseSlot']) expect(manifest).toContain(`"step//maitred@1.0.0-durable//${step}"`);
    expect(manifest).toContain('"workflow//maitred@1.0.0-durable//runSerially"');
    await rig.app.start();
    await rig.maitred.release(held);
    expect(await rig.output(run)).toEqual({ slotId: slot });
    edit(join(rig.folder, 'node_modules/maitred/package.json'), '"version": "0.1.1"', '"version": "0.1.0"');
  });
});

describe('the callback', () => {
  it('takes nothing from strangers, and nothing that it does not know', async () => {
    const question = { type: 'runs', runs: ['wrun_nobody'] };
    expect((await rig.callBack(question, 'x'.repeat(40))).status).toBe(401);
    expect((await rig.callBack(question, '')).status).toBe(401);
    for (const odd of [{ type: 'runs' }, { type: 'slot', slot: 1 }, { type: 'else' }, null, [], 'x']) {
      expect((await rig.callBack(odd)).status).toBe(400);
    }
    expect(await (await rig.callBack(question)).json()).toEqual({ runs: { wrun_nobody: 'not_found' } });
    const notice = await rig.callBack({ type: 'slot', slot: 's', limit: 'voice-calls', run: 'wrun_nobody', state: 'reserved' });
    expect([notice.status, await notice.json()]).toEqual([410, { woken: false, run: 'not_found' }]);
  });
});

describe('other workflows', () => {
  it('hold a slot while they work', async () => {
    const run = await rig.start('export-report', { reportId: 'r7' });
    expect(await rig.output(run)).toEqual({ file: 'r7.pdf' });
    expect((await rig.maitred.limits.get('partner-api')).busy).toBe(0);
    const { ends } = await rig.maitred.limits.history('partner-api');
    expect(ends).toMatchObject([{ state: 'released', label: 'r7', run, workflow: 'exportReportWorkflow', by: run }]);
  });

  const probe = async (input: object) => rig.output(await rig.start('probe', input));

  it('learn what went wrong', async () => {
    await rig.maitred.slots.ask('probe', { slot: 'taken', run: 'by-hand' });
    await rig.maitred.slots.confirm('taken');
    expect(await probe({ limit: 'probe', timeout: '0s' })).toEqual({ timedOut: { limiter: 'probe', timeout: '0s' } });
    expect(await probe({ limit: 'none' })).toMatchObject({ code: 'limit_not_found' });
    expect(await probe({ limit: 'probe', timeout: 'soon' })).toMatchObject({ code: 'invalid_timeout' });
    expect(await probe({ limit: 'probe', where: 'step' })).toMatchObject({ message: expect.stringContaining('not from a step') });
    const lost = await rig.start('probe', { limit: 'probe' });
    await rig.maitred.slots.leave(await rig.slotOf(lost, 'queued'));
    expect(await rig.output(lost)).toEqual({ lost: 'left' });
    await rig.maitred.release('taken');
    expect(await probe({ limit: 'probe' })).toMatchObject({ released: [true, false] });
  });

  it('hear of an end that the server did not live to tell', async () => {
    await rig.maitred.slots.ask('probe', { slot: 'held', run: 'by-hand' });
    await rig.maitred.slots.confirm('held');
    const lost = await rig.start('probe', { limit: 'probe' });
    const slot = await rig.slotOf(lost, 'queued');
    await eventually('it waits on its hook', async () => rig.hasHook(slot));
    await rig.app.kill();
    await rig.maitred.slots.leave(slot);
    await rig.server.kill();
    await rig.server.start();
    await rig.app.start();
    expect(await rig.output(lost)).toEqual({ lost: 'left' });
  });

  it('run one at a time, whole, in the order in which they were started', async () => {
    const order: string[] = [];
    rig.provider.onDial = (told) => order.push(told);
    const runs: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      runs.push(await rig.start('one-by-one', { name, forMs: 300 }));
      await eventually(`${name} is in`, async () => (await rig.maitred.runs.get(runs.at(-1)!)).slots.length === 1);
    }
    expect((await rig.maitred.limits.get('serial.one-by-one'))).toMatchObject({ capacity: 1, busy: 1 });
    for (const run of runs) await rig.output(run);
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    rig.provider.onDial = () => undefined;
  });

  it('let the next one begin when one of them is cancelled', async () => {
    const long = await rig.start('one-by-one', { name: 'long', forMs: 3_600_000 });
    await rig.slotOf(long, 'busy');
    const next = await rig.start('one-by-one', { name: 'next', forMs: 10 });
    await rig.slotOf(next, 'queued');
    await rig.cancel(long);
    expect(await rig.output(next)).toEqual({ name: 'next' });
  });
});
