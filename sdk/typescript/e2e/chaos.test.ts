/**
 * Calls over kills of app and server, at times from a seed: every call is placed, each with one slot, and never more at
 * once than the capacity. By hand: `CHAOS_RUNS=100 CHAOS_KILLS=10 npm run e2e -- chaos`, with `WORKFLOW_POSTGRES_URL` for
 * runs in that database: nothing is mended there.
 */
import { expect, it } from 'vitest';
import { eventually, pause } from './support/process.js';
import { Rig } from './support/rig.js';
import { mend } from './support/store.js';

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const RUNS = number('CHAOS_RUNS', 10);
const KILLS = number('CHAOS_KILLS', 2);
const SEED = number('CHAOS_SEED', Date.now() % 1_000_000);
const CAPACITY = 3;

/** A small generator, so that a seed tells what happened. */
function chances(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Until it is done, however often the app is not there. */
const insist = <T>(what: string, act: () => Promise<T>) => eventually(what, async () => [await act()] as const, 120_000).then(([done]) => done);

interface Played {
  outputs: unknown[];
  kills: string[];
  torn: number;
}

interface Plan {
  runs: number;
  kills: number;
  capacity: number;
  callMs: number;
  chance: () => number;
}

async function play(rig: Rig, { runs, kills, capacity, callMs, chance }: Plan): Promise<Played> {
  await rig.maitred.limits.setCapacity('voice-calls', capacity);
  // The provider tells the app that a call has ended; the other workflow gives the slot back.
  rig.provider.onDial = (_, slotId) => {
    setTimeout(() => {
      rig.provider.hangUp(slotId);
      void insist(`call-ended ${slotId}`, () => rig.start('call-ended', { slotId }));
    }, callMs);
  };
  const ids: string[] = [];
  const starting = (async () => {
    for (let index = 0; index < runs; index += 1) {
      let tried = 0; // a start whose answer was lost may have been made: another try is another call
      ids.push(await insist(`start ${index}`, () => rig.start('place-call', { callId: `call-${index}.${(tried += 1)}` })));
      await pause(chance() * 200);
    }
  })();
  const { killed, torn } = await kill(rig, kills, chance);
  await starting;
  const outputs = [];
  for (const id of ids) outputs.push(await rig.output(id, 600_000));
  await eventually('every slot is given back', async () => {
    const { busy, reserved, waiting } = await rig.maitred.limits.get('voice-calls');
    return busy + reserved + waiting === 0;
  }, 120_000);
  return { outputs, kills: killed, torn };
}

async function kill(rig: Rig, kills: number, chance: () => number): Promise<{ killed: string[]; torn: number }> {
  const killed: string[] = [];
  let torn = 0;
  for (let index = 0; index < kills; index += 1) {
    await pause(500 + chance() * 2_500);
    const [name, program] = index % 2 === 0 ? (['app', rig.app] as const) : (['server', rig.server] as const);
    await program.kill();
    killed.push(name);
    if (name === 'app') torn += mend(rig.world);
    await pause(chance() * 1_000);
    await program.start();
  }
  return { killed, torn };
}

it(`places ${RUNS} calls over ${KILLS} kills`, async () => {
  console.log(`CHAOS_SEED=${SEED}`);
  const began = Date.now();
  const rig = await Rig.start({ isManual: false });
  try {
    const plan = { runs: RUNS, kills: KILLS, capacity: CAPACITY, callMs: 1_000, chance: chances(SEED) };
    const { outputs, kills, torn } = await play(rig, plan);
    const { dialled, mostInside, repeated } = rig.provider;
    console.log({ runs: outputs.length, dialled: dialled.size, repeated, mostInside, torn, kills, seconds: (Date.now() - began) / 1000 });
    expect(outputs.filter((output) => typeof (output as { slotId: unknown }).slotId === 'string').length).toBe(RUNS);
    expect([...dialled].filter(([, slots]) => slots.size !== 1)).toEqual([]);
    expect(dialled.size).toBeGreaterThanOrEqual(RUNS);
    expect(mostInside).toBeLessThanOrEqual(CAPACITY);
    expect(mostInside, 'there was no pressure').toBe(CAPACITY);
    expect(kills.length, 'nothing was killed').toBe(KILLS);
  } finally {
    await rig.stop();
  }
}, 1_800_000);

it('sees a limit that is not kept', async () => {
  const rig = await Rig.start({ isManual: false });
  try {
    await play(rig, { runs: 5, kills: 0, capacity: CAPACITY + 1, callMs: 4_000, chance: chances(1) });
    expect(rig.provider.mostInside).toBeGreaterThan(CAPACITY);
  } finally {
    await rig.stop();
  }
}, 300_000);
