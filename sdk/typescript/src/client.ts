import { acquire, type AcquireOptions, type Limits } from './acquire.js';
import type { Duration } from './duration.js';
import { follow, type Following, type Told } from './events.js';
import { Http, type ClientOptions } from './http.js';
import { newId } from './id.js';
import type { LimitName } from './register.js';
import { RateLimit } from './rate-limit.js';
import { release, type Slot } from './slot.js';
import type {
  ExplainAnswer,
  HistoryAnswer,
  LimitAnswer,
  LimitInfo,
  LimitSlotsAnswer,
  LimitsAnswer,
  RunAnswer,
  RunStatus,
  SlotAnswer,
} from './wire.js';

export interface LimitFields {
  /** How many slots can be busy at once: a whole number, 1 to 100000. */
  capacity: number;
  /** The longest one slot stays busy, at most 30 days. */
  maxHold: Duration;
}

/** The limiter. Cheap to make; keeps no connection of its own. */
export class Maitred {
  readonly limits: LimitCalls;
  readonly slots: SlotCalls;
  readonly runs: RunCalls;
  readonly #http: Http;

  constructor(options: ClientOptions = {}) {
    this.#http = new Http(options);
    this.limits = new LimitCalls(this.#http);
    this.slots = new SlotCalls(this.#http);
    this.runs = new RunCalls(this.#http);
  }

  /** Where the limiter is. */
  get url(): string {
    return this.#http.url;
  }

  /**
   * A slot, first come, first served. The call stays open until there is one.
   *
   * Throws `SlotTimeoutError` when none became free in time, `SlotLostError` when the wait was ended from elsewhere,
   * the reason of `signal` when that aborted, and another `MaitredError` when the limiter refused or kept silent.
   */
  acquire(limits: Limits, options: AcquireOptions = {}): Promise<Slot> {
    return acquire(this.#http, limits, options);
  }

  /** Holds a slot while `fn` runs. Its `signal` aborts when the slot expires. */
  async withLimit<T>(
    limits: Limits,
    fn: (held: { slot: Slot; signal: AbortSignal }) => Promise<T> | T,
    options: AcquireOptions = {},
  ): Promise<T> {
    const slot = await this.acquire(limits, options);
    try {
      return await fn({ slot, signal: slot.signal });
    } finally {
      await slot[Symbol.asyncDispose]();
    }
  }

  /** Gives a slot back by its id, from wherever. A second time says `released: false` and changes nothing. */
  release(slot: string): Promise<{ released: boolean }> {
    return release(this.#http, slot);
  }

  /** Rates and places in flight for one run of a task. */
  rateLimit(of: { task: string; run?: string | undefined }): RateLimit {
    return new RateLimit(this.#http, of);
  }

  /** What is true, and then everything that happens, until `signal` aborts. */
  events(following: Following = {}): AsyncGenerator<Told, void, void> {
    return follow(this.#http, following);
  }

  /** Why a slot, a run or whatever has this label is not moving. */
  explain(what: string): Promise<ExplainAnswer> {
    return this.#http.ask('GET', '/v1/explain', { query: { what } });
  }
}

const at = (limit: string) => `/v1/limits/${encodeURIComponent(limit)}`;

export class LimitCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Every limit, by name. */
  async list(): Promise<LimitInfo[]> {
    const all: LimitInfo[] = [];
    for (let after: string | undefined; ; ) {
      const page: LimitsAnswer = await this.#http.ask('GET', '/v1/limits', { query: { after } });
      all.push(...page.limits);
      if (!page.next) return all;
      after = page.next;
    }
  }

  get(limit: LimitName): Promise<LimitAnswer> {
    return this.#http.ask('GET', at(limit));
  }

  /** Who holds and who waits, in order. */
  slots(limit: LimitName, page: { skip?: number; most?: number } = {}): Promise<LimitSlotsAnswer> {
    return this.#http.ask('GET', `${at(limit)}/slots`, { query: page });
  }

  /** How slots of this limit ended, newest first. */
  history(limit: LimitName): Promise<HistoryAnswer> {
    return this.#http.ask('GET', `${at(limit)}/history`);
  }

  /** Declares one limit; the others stay. */
  declare(limit: string, { capacity, maxHold }: LimitFields): Promise<LimitAnswer> {
    return this.#http.ask('PUT', at(limit), { body: { capacity, max_hold: maxHold }, id: newId() });
  }

  /** Declares the whole set of the namespace: every limit that is not in it is retired. */
  async deploy(limits: Record<string, LimitFields>): Promise<void> {
    const named = Object.entries(limits).map(([name, { capacity, maxHold }]) => ({ name, capacity, max_hold: maxHold }));
    await this.#http.ask('PUT', '/v1/limits', { body: { limits: named }, id: newId() });
  }

  /** Overrides the declared capacity until it is reset. Raised, waiting slots are granted at once. */
  setCapacity(limit: LimitName, capacity: number): Promise<LimitAnswer> {
    return this.#http.ask('PUT', `${at(limit)}/capacity`, { body: { capacity }, id: newId() });
  }

  resetCapacity(limit: LimitName): Promise<LimitAnswer> {
    return this.#http.ask('DELETE', `${at(limit)}/capacity`, { id: newId() });
  }

  /** Overrides the declared max hold until it is reset, for slots granted from now on. */
  setMaxHold(limit: LimitName, maxHold: Duration): Promise<LimitAnswer> {
    return this.#http.ask('PUT', `${at(limit)}/max-hold`, { body: { max_hold: maxHold }, id: newId() });
  }

  resetMaxHold(limit: LimitName): Promise<LimitAnswer> {
    return this.#http.ask('DELETE', `${at(limit)}/max-hold`, { id: newId() });
  }

  /** Paused, it grants nothing; what is held goes on. */
  pause(limit: LimitName): Promise<LimitAnswer> {
    return this.#http.ask('PUT', `${at(limit)}/pause`, { id: newId() });
  }

  resume(limit: LimitName): Promise<LimitAnswer> {
    return this.#http.ask('DELETE', `${at(limit)}/pause`, { id: newId() });
  }
}

/** What a holder that does not stay on the line asks with. A slot granted to it is reserved until it confirms. */
export interface SlotFields extends Omit<AcquireOptions, 'signal'> {
  /** Made here if not given; the same id with the same content is the same slot. */
  slot?: string;
}

export class SlotCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  get(slot: string): Promise<SlotAnswer> {
    return this.#http.ask('GET', slotAt(slot));
  }

  /** Asks for a slot and does not wait: it is `reserved`, or `queued`. */
  ask(limit: LimitName, { slot, ...fields }: SlotFields = {}): Promise<SlotAnswer> {
    return this.#http.ask('POST', '/v1/slots', { body: { ...fields, limit, slot: slot ?? newId() } });
  }

  /** Makes a reserved slot busy. Answers what it then is, whatever that may be. */
  confirm(slot: string): Promise<SlotAnswer> {
    return this.#http.ask('POST', `${slotAt(slot)}/confirm`);
  }

  /** Gives up a queued or reserved slot; a busy one stays busy. */
  leave(slot: string): Promise<SlotAnswer> {
    return this.#http.ask('POST', `${slotAt(slot)}/leave`);
  }
}

const slotAt = (slot: string) => `/v1/slots/${encodeURIComponent(slot)}`;

export class RunCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** What a run holds and waits for. */
  get(run: string): Promise<RunAnswer> {
    return this.#http.ask('GET', `/v1/runs/${encodeURIComponent(run)}`);
  }

  /** The run is over: it leaves every queue, its reservations and places in flight are free, and its hits settle. */
  async end(run: string, status: RunStatus): Promise<void> {
    await this.#http.ask('POST', `/v1/runs/${encodeURIComponent(run)}/end`, { body: { status }, id: newId() });
  }
}
