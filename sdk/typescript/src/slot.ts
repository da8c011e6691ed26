import { SlotExpiredError, type MaitredError } from './errors.js';
import type { Http } from './http.js';
import { newId } from './id.js';
import type { ReleaseAnswer, SlotAnswer } from './wire.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A slot that is held. Give it back with `release`, or leave it to `await using` or `withLimit`; `detach` keeps it
 * busy beyond this scope, for work that ends elsewhere.
 */
export class Slot {
  readonly id: string;
  /** The limit, or the first of several. */
  readonly limiter: string;
  /** Grows with every grant: a resource can refuse an older holder by it. */
  readonly fence: number;
  /** When it is taken back, in milliseconds since 1970 by the limiter's clock. */
  readonly expiresAt: number;
  /** Aborts when the slot expires, with a `SlotExpiredError`. */
  readonly signal: AbortSignal;
  readonly #http: Http;
  readonly #expiry: AbortController;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOurs = true;

  constructor(http: Http, limiter: string, answer: SlotAnswer) {
    this.#http = http;
    this.id = answer.slot;
    this.limiter = limiter;
    this.fence = answer.fence ?? 0;
    this.expiresAt = answer.expires_at ?? 0;
    this.#expiry = new AbortController();
    this.signal = this.#expiry.signal;
    this.#expireIn(this.expiresAt - answer.as_of);
  }

  /** A timer can't be longer than 24 days, so it is wound up again. */
  #expireIn(ms: number): void {
    const next = Math.min(ms, LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => {
      if (ms > next) this.#expireIn(ms - next);
      else this.#expiry.abort(new SlotExpiredError(this.id));
    }, next);
    if (typeof this.#timer === 'object') this.#timer.unref();
  }

  /** Gives it back. False if it was not held any more: released elsewhere, or expired. */
  async release(options: { signal?: AbortSignal } = {}): Promise<{ released: boolean }> {
    this.detach();
    return release(this.#http, this.id, options.signal);
  }

  /** Leaves it busy: from here on nothing of this process gives it back. */
  detach(): string {
    clearTimeout(this.#timer);
    this.#isOurs = false;
    return this.id;
  }

  /** Gives it back unless that was done, or it was detached. Never throws: the max hold is the last resort. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOurs) await this.release().catch((_: MaitredError) => undefined);
  }
}

/** The id makes a retry of a release whose answer was lost answer what the first one did. */
export async function release(http: Http, slot: string, signal?: AbortSignal): Promise<{ released: boolean }> {
  const path = `/v1/slots/${encodeURIComponent(slot)}/release`;
  const { released } = await http.ask<ReleaseAnswer>('POST', path, { id: newId(), signal });
  return { released };
}
