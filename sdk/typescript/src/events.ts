import { MaitredError } from './errors.js';
import { backOff, pause, type Http } from './http.js';
import type { LiveEvent, LiveSnapshot } from './wire.js';

/** `snapshot`: what is true at a revision. `events`: what happened at one. After `reset` a new snapshot follows. */
export type Told =
  | { kind: 'snapshot'; revision: number; snapshot: LiveSnapshot }
  | { kind: 'events'; revision: number; events: LiveEvent[] }
  | { kind: 'reset'; reason: string };

export interface Following {
  /** Of this limit only. */
  limit?: string;
  signal?: AbortSignal;
}

const A_DAY_MS = 86_400_000;

/** Follows the server's stream, and comes back where it was when the line breaks. Ends when `signal` aborts. */
export async function* follow(http: Http, { limit, signal }: Following): AsyncGenerator<Told, void, void> {
  let [after, tried]: [number | undefined, number] = [undefined, 0];
  while (!signal?.aborted) {
    try {
      for await (const message of messages(http, { limit, after }, signal)) {
        tried = 0;
        if (message.id !== undefined) after = message.id;
        const told = read(message);
        if (told) yield told;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof MaitredError && !error.retryable) throw error;
    }
    await pause(backOff(tried++), signal).catch(() => undefined);
  }
}

interface Message {
  event: string;
  id: number | undefined;
  data: string;
}

function read({ event, id, data }: Message): Told | undefined {
  if (event === 'snapshot') return { kind: event, revision: id ?? 0, snapshot: JSON.parse(data) as LiveSnapshot };
  if (event === 'events') return { kind: event, revision: id ?? 0, events: JSON.parse(data) as LiveEvent[] };
  if (event === 'reset') return { kind: event, reason: (JSON.parse(data) as { reason: string }).reason };
  return undefined; // `bye`: the line ends, and is opened again
}

async function* messages(
  http: Http,
  query: { limit: string | undefined; after: number | undefined },
  signal: AbortSignal | undefined,
): AsyncGenerator<Message> {
  const response = await http.open('GET', '/v1/events', { query, signal, withinMs: A_DAY_MS });
  if (!response.ok || !response.body) {
    const { reason = 'unavailable', message = '' } = (await response.json().catch(() => ({}))) as Record<string, string>;
    throw new MaitredError(reason, message, { status: response.status });
  }
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    yield* blocks.flatMap((block) => parsed(block));
  }
}

/** A block without an event is a comment that keeps the line alive. */
function parsed(block: string): Message[] {
  const field = (name: string) => block.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const [event, id, data] = [field('event'), field('id'), field('data')];
  return event && data !== undefined ? [{ event, id: id === undefined ? undefined : Number(id), data }] : [];
}
