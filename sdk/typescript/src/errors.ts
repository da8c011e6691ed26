/**
 * What went wrong, for programs: `code` says what, `retryable` whether the same call may succeed later, `outcome`
 * whether anything may have happened. Every class has an `is` that works where `instanceof` fails: across two
 * copies of this module, and on an error that a durable engine has carried from one process to another (which keeps
 * name and message, and nothing else).
 */

/** `refused`: nothing happened. `unknown`: it may have happened; ask again with the same id. */
export type Outcome = 'refused' | 'unknown';

export interface ErrorFields {
  status?: number | undefined;
  details?: unknown;
  requestId?: string | undefined;
  cause?: unknown;
}

const MAY_PASS = new Set([
  'rate_limit_exceeded',
  'concurrency_limit_exceeded',
  'queue_full',
  'too_many_slots',
  'too_many_limits',
  'too_many_keys',
  'too_many_namespaces',
  'idempotency_full',
  'storage_full',
  'overloaded',
  'unavailable',
  'unknown',
]);

function isNamed(error: unknown, name: string): boolean {
  try {
    return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === name;
  } catch {
    return false; // a getter of somebody else's
  }
}

/** Any refusal of the limiter, and any answer that did not come. */
export class MaitredError extends Error {
  /** The limiter's `reason`, such as `limit_not_found`; the API's reference lists them. */
  readonly code: string;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  /** Of the HTTP answer, if there was one. */
  readonly status: number | undefined;
  readonly details: unknown;
  /** Names the answer in the server's log. */
  readonly requestId: string | undefined;

  constructor(code: string, message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = 'MaitredError';
    this.code = code;
    this.retryable = MAY_PASS.has(code);
    this.outcome = code === 'unknown' || code === 'internal' ? 'unknown' : 'refused';
    this.status = fields.status;
    this.details = fields.details;
    this.requestId = fields.requestId;
  }

  /** True for every error of this package: what carries a `code` and the name of one of its classes. */
  static is(error: unknown): error is MaitredError {
    return NAMES.some((name) => isNamed(error, name));
  }
}

/** No slot became free in time. Nothing is held. */
export class SlotTimeoutError extends MaitredError {
  readonly limiter: string;
  readonly timeout: string | number;

  constructor(limiter: string, timeout: string | number) {
    const waited = typeof timeout === 'number' ? `${timeout} ms` : timeout;
    super('slot_timeout', `no slot of \`${limiter}\` became free within ${waited}; ask again later, or wait longer`);
    this.name = 'SlotTimeoutError';
    this.limiter = limiter;
    this.timeout = timeout;
  }

  /** `limiter` and `timeout` are there only in the workflow run, or the process, that asked. */
  static override is(error: unknown): error is SlotTimeoutError {
    return isNamed(error, 'SlotTimeoutError');
  }
}

/** The slot was ended from elsewhere before it was had: an operator released it, or its run was reported as over. */
export class SlotLostError extends MaitredError {
  readonly limiter: string;
  readonly slot: string;
  /** How it ended: `released`, `expired`, `left` or `run_ended`. */
  readonly state: string;

  constructor(limiter: string, slot: string, state: string) {
    super('slot_lost', `slot ${slot} of \`${limiter}\` was ended from elsewhere: it is ${state}`);
    this.name = 'SlotLostError';
    this.limiter = limiter;
    this.slot = slot;
    this.state = state;
  }

  static override is(error: unknown): error is SlotLostError {
    return isNamed(error, 'SlotLostError');
  }
}

/** The reason of a slot's `signal`: its max hold has passed, and the limiter may have given the place to another. */
export class SlotExpiredError extends MaitredError {
  readonly slot: string;

  constructor(slot: string) {
    super('slot_expired', `slot ${slot} has been held for its max hold: it belongs to somebody else now`);
    this.name = 'SlotExpiredError';
    this.slot = slot;
  }

  static override is(error: unknown): error is SlotExpiredError {
    return isNamed(error, 'SlotExpiredError');
  }
}

const NAMES = ['MaitredError', 'SlotTimeoutError', 'SlotLostError', 'SlotExpiredError', 'RateLimitExceededError'];
