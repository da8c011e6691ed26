/**
 * A limiter for tests, in memory, with a clock that you move. It stands in at the place of `fetch`, so the client under
 * test is the real one:
 *
 * ```ts
 * const limiter = new TestLimiter();
 * const maitred = new Maitred({ fetch: limiter.fetch });
 * await maitred.limits.declare('voice-calls', { capacity: 1, maxHold: '45m' });
 * limiter.advance('45m');
 * ```
 *
 * It passes the same contract tests as a real server. What it does not have (history, events, explanations, tokens)
 * answers 501.
 */
import { milliseconds, type Duration } from '../duration.js';
import { Queue } from './queue.js';
import { Rates } from './rates.js';
import { Refusal, routed } from './routes.js';

interface Kept {
  content: string;
  answer: unknown;
}

export class TestLimiter {
  readonly #queue: Queue;
  readonly #rates = new Rates();
  readonly #kept = new Map<string, Kept>();
  #isDown = false;

  constructor(options: { now?: number } = {}) {
    this.#queue = new Queue(options.now ?? Date.now());
  }

  /** By its own clock, in milliseconds since 1970. */
  get now(): number {
    return this.#queue.now;
  }

  /** Moves the clock; everything that is due on the way happens at its own time. */
  advance(by: Duration): void {
    const ms = milliseconds(by);
    if (ms === undefined) throw new TypeError(`${JSON.stringify(by)} is no duration`);
    this.#queue.advanceTo(this.#queue.now + ms);
  }

  /** From now on nothing answers, until `comeBack`. What is known is kept. */
  goDown(): void {
    this.#isDown = true;
  }

  comeBack(): void {
    this.#isDown = false;
  }

  /** Give it to the client in place of the global one. */
  readonly fetch: typeof globalThis.fetch = async (input, init = {}) => {
    if (this.#isDown) throw new TypeError('fetch failed');
    const url = new URL(String(input));
    const headers = new Headers(init.headers);
    const content = `${init.method} ${url.pathname} ${init.body ?? ''}`;
    try {
      const answer = await this.#once(headers.get('idempotency-key'), content, () => this.#answer(url, init));
      return Response.json(answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return Response.json({ status: 'error', reason: error.reason, message: error.message }, { status: error.status });
    }
  };

  #answer(url: URL, init: RequestInit): unknown {
    const body: unknown = init.body ? JSON.parse(String(init.body)) : {};
    const ask = { method: init.method ?? 'GET', url, body, signal: init.signal ?? undefined };
    return routed(this.#queue, this.#rates, ask);
  }

  /** One id, one effect. */
  async #once(id: string | null, content: string, answer: () => unknown): Promise<unknown> {
    const kept = id === null ? undefined : this.#kept.get(id);
    if (kept && kept.content !== content) throw new Refusal(409, 'conflict', 'this id was used for something else');
    if (kept) return kept.answer;
    const given = await answer();
    if (id !== null) this.#kept.set(id, { content, answer: given });
    return given;
  }
}
