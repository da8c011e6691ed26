/**
 * Where the limiter calls an app back: a notice that a run should look at its slot, and the question how runs stand.
 * What it answers decides what the limiter does: 200 woken, 404 try again, 410 the run is over.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { getRun, resumeHook } from 'workflow/api';
import { hookToken } from '../token.js';
import { MaitredError } from '../errors.js';

type Standing = 'running' | 'completed' | 'failed' | 'cancelled' | 'not_found' | 'unknown';

interface Notice {
  type: 'slot';
  slot: string;
  limit: string;
  run: string;
  state: string;
}

interface Question {
  type: 'runs';
  runs: string[];
}

const OVER = new Set<Standing>(['completed', 'failed', 'cancelled', 'not_found']);
const SECRET_LEAST = 32;
const BODY_MOST = 64 * 1024;

/** A handler for `POST` at the URL that the limiter's `[callbacks.NAME]` names. */
export function callbackHandler(options: { secret?: string | undefined } = {}): (request: Request) => Promise<Response> {
  const secret = options.secret ?? process.env.MAITRED_CALLBACK_SECRET ?? '';
  if (secret.length < SECRET_LEAST) {
    const message = `MAITRED_CALLBACK_SECRET must have at least ${SECRET_LEAST} characters, the same as at the limiter; make one: openssl rand -hex 32`;
    throw new MaitredError('invalid_argument', message);
  }
  const isSecret = same(`Bearer ${secret}`);
  return async (request) => {
    if (request.method !== 'POST') return Response.json({ error: 'only POST' }, { status: 405 });
    if (!isSecret(request.headers.get('authorization') ?? '')) return Response.json({ error: 'unauthorized' }, { status: 401 });
    const body = await read(request);
    if (body?.type === 'runs') return Response.json({ runs: await standings(body.runs) });
    if (body?.type === 'slot') return notify(body);
    return Response.json({ error: 'no notice, and no question about runs' }, { status: 400 });
  };
}

/** Of equal hashes, so that the time it takes tells nothing. */
function same(wanted: string): (given: string) => boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  const hashed = hash(wanted);
  return (given) => timingSafeEqual(hash(given), hashed);
}

async function read(request: Request): Promise<Notice | Question | undefined> {
  const text = await request.text();
  if (text.length > BODY_MOST) return undefined;
  const isText = (value: unknown) => typeof value === 'string';
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const { type, runs, slot, limit, run, state } = body;
    const isQuestion = type === 'runs' && Array.isArray(runs) && runs.every(isText);
    const isNotice = type === 'slot' && [slot, limit, run, state].every(isText);
    return isQuestion || isNotice ? (body as unknown as Notice | Question) : undefined;
  } catch {
    return undefined; // no JSON, or no object
  }
}

async function notify({ slot, limit, run, state }: Notice): Promise<Response> {
  try {
    await resumeHook(hookToken(limit, slot), { state });
    return Response.json({ woken: true });
  } catch (error) {
    if ((error as Error).name !== 'HookNotFoundError') throw error;
    const standing = await standingOf(run);
    return Response.json({ woken: false, run: standing }, { status: OVER.has(standing) ? 410 : 404 });
  }
}

async function standings(runs: string[]): Promise<Record<string, Standing>> {
  const pairs = await Promise.all(runs.map(async (run) => [run, await standingOf(run)] as const));
  return Object.fromEntries(pairs);
}

async function standingOf(run: string): Promise<Standing> {
  try {
    const status = (await getRun(run).status) as string;
    if (status === 'completed' || status === 'failed' || status === 'cancelled') return status;
    return status === 'pending' || status === 'running' ? 'running' : 'unknown';
  } catch (error) {
    return (error as Error).name === 'WorkflowRunNotFoundError' ? 'not_found' : 'unknown';
  }
}
