/**
 * Rates and places in flight of keys that nobody declared, as a task's `options()` checks them before it runs. The
 * full host of such tasks is the Rust one; this is its part that asks.
 */
import { MaitredError } from './errors.js';
import type { Http } from './http.js';
import type { Decision, SpecResult } from './wire.js';

/** At most `limit` hits in a window that starts with the first. */
export interface RateSpec {
  /** Who shares the counter: 1 to 256 of `A-Z a-z 0-9 . _ = @ | / : -`. Never told to whoever is refused. */
  key: string;
  limit: number;
  windowSeconds: number;
  /** What a refusal calls this limit. */
  label?: string;
  /** Give the hit back if the run ends other than succeeded. */
  countSuccessesOnly?: boolean;
  /** How much one call counts, 1 if not given. */
  cost?: number;
}

/** At most `limit` runs at once. */
export interface ConcurrencySpec {
  key: string;
  limit: number;
  label?: string;
}

export type RateLimitResult = SpecResult;

export interface RateLimitDecision {
  /** The kind that blocks; when nothing does, that of the first spec. */
  type: 'rate' | 'concurrency';
  /** True if any spec of the call is over. */
  overLimit: boolean;
  /** The longest wait among the rates that are over; 0 when allowed, and in a concurrency decision. */
  retryAfterSeconds: number;
  /** The limiter could not answer, so nothing was checked. */
  degraded: boolean;
  /** One per spec, in their order; empty when degraded. */
  results: RateLimitResult[];
  /** The spec that blocks, counted from 0. */
  blockedBy?: number;
}

export interface Enforcing {
  /** Whether a decision over the limit throws. True if not given. What is counted is the same. */
  enforce?: boolean;
  /** The id of the message that asked: a redelivery is then counted once. */
  id?: string;
  signal?: AbortSignal;
}

/** The 429 a client gets. */
export interface RateLimitBody {
  status: 'error';
  reason: 'rate_limit_exceeded' | 'concurrency_limit_exceeded';
  message: string;
  details: { retryAfterSeconds: number | null; limit?: number; label?: string };
}

/** Over the limit: answer with `body`, or with `toResponse()`. Throw it yourself to refuse after all. */
export class RateLimitExceededError extends MaitredError {
  readonly decision: RateLimitDecision;
  readonly body: RateLimitBody;

  constructor(decision: RateLimitDecision, kind: 'consume' | 'acquire' = 'consume') {
    const body = refusal(decision, kind);
    super(body.reason, body.message, { status: 429, details: body.details });
    this.name = 'RateLimitExceededError';
    this.decision = decision;
    this.body = body;
  }

  static override is(error: unknown): error is RateLimitExceededError {
    return MaitredError.is(error) && error.name === 'RateLimitExceededError';
  }

  toResponse(): Response {
    const seconds = this.body.details.retryAfterSeconds;
    const headers: Record<string, string> = seconds === null ? {} : { 'retry-after': String(seconds) };
    return Response.json(this.body, { status: 429, headers });
  }
}

function refusal(decision: RateLimitDecision, kind: 'consume' | 'acquire'): RateLimitBody {
  const isRate = kind === 'consume';
  const blocking = decision.results[decision.blockedBy ?? worst(decision.results, isRate)];
  const label = blocking?.label ?? undefined;
  const named = label === undefined ? '' : ` \`${label}\``;
  const seconds = decision.retryAfterSeconds;
  return {
    status: 'error',
    reason: isRate ? 'rate_limit_exceeded' : 'concurrency_limit_exceeded',
    message: isRate
      ? `the rate limit${named} is used up; try again in ${seconds} s`
      : `the concurrency limit${named} is reached; it frees when a running task finishes`,
    details: {
      retryAfterSeconds: isRate ? seconds : null,
      ...(blocking ? { limit: blocking.limit } : {}),
      ...(label === undefined ? {} : { label }),
    },
  };
}

/** Of rates the one that takes longest, of places the first. */
function worst(results: RateLimitResult[], isRate: boolean): number {
  const over = results.flatMap((result, index) => (result.over ? [index] : []));
  const longest = over.toSorted((a, b) => results[b]!.resetSeconds - results[a]!.resetSeconds);
  return (isRate ? longest[0] : over[0]) ?? -1;
}

/** The limits of one run of a task. */
export class RateLimit {
  readonly #http: Http;
  readonly #of: { task: string; run?: string };

  constructor(http: Http, of: { task: string; run?: string | undefined }) {
    this.#http = http;
    this.#of = of.run === undefined ? { task: of.task } : { task: of.task, run: of.run };
  }

  /** Counts one hit against every key, or none. Needs a run where only successes count. Must be awaited. */
  consume(specs: RateSpec[], options: Enforcing = {}): Promise<RateLimitDecision> {
    return this.admit(specs, options);
  }

  /** Takes one place in flight for the run on every key, or none. The end of the run frees it. Must be awaited. */
  acquire(specs: ConcurrencySpec[], options: Enforcing = {}): Promise<RateLimitDecision> {
    return this.admit(specs, options);
  }

  /** Rates and places in one call: all of them, or none. */
  async admit(specs: (RateSpec | ConcurrencySpec)[], options: Enforcing = {}): Promise<RateLimitDecision> {
    const decision = await this.#decide(specs, false, options);
    if (decision.overLimit && options.enforce !== false) {
      throw new RateLimitExceededError(decision, decision.type === 'rate' ? 'consume' : 'acquire');
    }
    return decision;
  }

  /** The verdict the same call would get now. Counts nothing, takes nothing, and does not throw when over. */
  check(specs: (RateSpec | ConcurrencySpec)[], options: { signal?: AbortSignal } = {}): Promise<RateLimitDecision> {
    return this.#decide(specs, true, options);
  }

  /** One try within the deadline: a call without an id that is made twice counts twice. */
  async #decide(specs: (RateSpec | ConcurrencySpec)[], check: boolean, options: Enforcing): Promise<RateLimitDecision> {
    const body = { ...this.#of, specs, check, enforce: false };
    const { id, signal } = options;
    try {
      return plain(await this.#http.askOnce<Decision>('POST', '/v1/admit', { body, id, signal, withinMs: this.#http.deadlineMs }));
    } catch (error) {
      if (!(error instanceof MaitredError) || !isTrouble(error)) throw error;
      return degraded(specs[0]);
    }
  }
}

function plain({ type, overLimit, retryAfterSeconds, degraded, results, blockedBy }: Decision): RateLimitDecision {
  const decision = { type, overLimit, retryAfterSeconds, degraded, results };
  return typeof blockedBy === 'number' ? { ...decision, blockedBy } : decision;
}

/** The limiter is in trouble, or cannot be heard; rather than that the call is wrong. */
function isTrouble(error: MaitredError): boolean {
  return error.code === 'unavailable' || error.code === 'unknown' || (error.status ?? 0) >= 500;
}

function degraded(first: RateSpec | ConcurrencySpec | undefined): RateLimitDecision {
  const type = first && !('windowSeconds' in first) ? 'concurrency' : 'rate';
  return { type, overLimit: false, retryAfterSeconds: 0, degraded: true, results: [] };
}
