/**
 * The engine's local store, after a kill.
 *
 * It keeps a step as a file of its own and as events, and writes one after the other: a kill in between leaves a step
 * that counts as done and never answers, and its run hangs for good. The DevKit says of this store that it is for
 * development. What is tested here is what stands around it, so a torn write is finished or taken back, as a store that
 * survives kills would do by itself; how many there were is counted.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Entity {
  runId: string;
  stepId?: string;
  waitId?: string;
  status: string;
  [field: string]: unknown;
}

interface Event {
  eventType: string;
  runId: string;
  correlationId?: string;
}

/** How many torn writes there were. */
export function mend(world: string): number {
  const finished = finishEvents(join(world, 'events'));
  const seen = new Set(events(world).map(({ eventType, runId, correlationId }) => `${eventType} ${runId}-${correlationId}`));
  const has = (key: string, ...types: string[]) => types.some((type) => seen.has(`${type} ${key}`));
  const steps = mendKind(world, 'steps', 'terminal', 'pending', {
    isKnown: (key) => has(key, 'step_created'),
    isOver: (key) => has(key, 'step_completed', 'step_failed'),
  });
  const waits = mendKind(world, 'waits', 'completed', 'waiting', {
    isKnown: (key) => has(key, 'wait_created'),
    isOver: (key) => has(key, 'wait_completed'),
  });
  return finished + steps + waits;
}

/** An event that was written and did not get its name yet. */
function finishEvents(folder: string): number {
  const torn = names(folder).filter((name) => name.includes('.json.tmp.'));
  for (const name of torn) {
    const [path, target] = [join(folder, name), join(folder, name.split('.tmp.')[0]!)];
    if (existsSync(target) || json(path) === undefined) rmSync(path);
    else renameSync(path, target);
  }
  return torn.length;
}

interface Known {
  isKnown(key: string): boolean;
  isOver(key: string): boolean;
}

/** One that no event tells of is taken back; one that counts as over, and no event says so, is open again. */
function mendKind(world: string, kind: string, lock: string, open: string, { isKnown, isOver }: Known): number {
  let torn = 0;
  for (const name of names(join(world, kind)).filter((name) => name.endsWith('.json'))) {
    const key = name.slice(0, -'.json'.length);
    const path = join(world, kind, name);
    const lockPath = join(world, '.locks', kind, `${key}.${lock}`);
    const entity = json(path) as Entity | undefined;
    const isClaimed = existsSync(lockPath) || ['completed', 'failed'].includes(entity?.status ?? '');
    if (!entity || !isKnown(key)) {
      rmSync(path);
      rmSync(lockPath, { force: true });
    } else if (isClaimed && !isOver(key)) {
      const { output: _, error: __, completedAt: ___, ...rest } = entity;
      writeFileSync(path, JSON.stringify({ ...rest, status: open }));
      rmSync(lockPath, { force: true });
    } else {
      continue;
    }
    torn += 1;
  }
  return torn;
}

function events(world: string): Event[] {
  const folder = join(world, 'events');
  const files = names(folder).filter((name) => name.endsWith('.json'));
  return files.flatMap((name) => (json(join(folder, name)) as Event | undefined) ?? []);
}

const names = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

function json(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
