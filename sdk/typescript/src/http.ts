import { MaitredError } from './errors.js';
import { checkedHeader, checkedUrl, told, wasNeverSent } from './reach.js';

/** How the limiter is reached. What is not given comes from the environment: `MAITRED_URL`, `MAITRED_TOKEN`,
 * `MAITRED_AGENT`. */
export interface ClientOptions {
  /** `http://127.0.0.1:7654` if not given. What is no `http` or `https` address is refused: `invalid_argument`. */
  url?: string | undefined;
  token?: string | undefined;
  /** The namespace: one installation. `default` if not given. */
  agent?: string | undefined;
  /** Who acts, for the limiter's record. */
  by?: string | undefined;
  /** How long a rate or key call may take before it goes on without a verdict. 1000 if not given. */
  deadlineMs?: number | undefined;
  /** How long a call may take, with all its tries, while the limiter does not answer; 0 for a single try, which may
   * take 10 s. An `acquire` waits for a limiter that is away so long, and never beyond its own timeout. 30000 if not
   * given. */
  patienceMs?: number | undefined;
  /** Told before every further try. */
  onRetry?: ((error: MaitredError, delayMs: number) => void) | undefined;
  /** Stands in for the global `fetch`, for instance the one of `maitred/testing`. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface Ask {
  body?: unknown;
  query?: Record<string, string | number | boolean | undefined>;
  /** Makes a call that changes something repeatable. */
  id?: string | undefined;
  signal?: AbortSignal | undefined;
  /** How long one try may take. 10000 if not given. */
  withinMs?: number;
  /** How long all tries together may take; 0 for a single try. The patience if not given. */
  patienceMs?: number;
}

const TRY_WITHIN_MS = 10_000;
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 5_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const AGAIN = new Set(['unavailable', 'unknown', 'internal', 'overloaded']);

/** One API of one server. Knows about HTTP, trust in answers, and trying again; nothing about limits. */
export class Http {
  readonly url: string;
  readonly deadlineMs: number;
  readonly patienceMs: number;
  readonly #options: ClientOptions;
  readonly #headers: Record<string, string>;

  constructor(options: ClientOptions = {}) {
    const env: Record<string, string | undefined> = globalThis.process?.env ?? {};
    this.url = checkedUrl(options.url ?? env.MAITRED_URL ?? 'http://127.0.0.1:7654');
    this.deadlineMs = options.deadlineMs ?? 1_000;
    this.patienceMs = options.patienceMs ?? 30_000;
    this.#options = options;
    const token = options.token ?? env.MAITRED_TOKEN;
    const agent = options.agent ?? env.MAITRED_AGENT;
    this.#headers = {
      accept: 'application/json',
      ...(token ? { authorization: `Bearer ${checkedHeader('token', token)}` } : {}),
      ...(agent ? { 'maitred-agent': checkedHeader('agent', agent) } : {}),
      ...(options.by ? { 'maitred-by': checkedHeader('by', options.by) } : {}),
    };
  }

  /** Asks until there is an answer that settles it, or the patience is over. A call that changes something must carry
   * an id, or be harmless to repeat. */
  async ask<T>(method: string, path: string, ask: Ask = {}): Promise<T> {
    const patienceMs = ask.patienceMs ?? this.patienceMs;
    const until = Date.now() + patienceMs;
    let mayHaveHappened = false;
    for (let tried = 0; ; tried += 1) {
      const withinMs = Math.min(ask.withinMs ?? TRY_WITHIN_MS, patienceMs > 0 ? until - Date.now() : Infinity);
      try {
        return await this.askOnce<T>(method, path, { ...ask, withinMs });
      } catch (error) {
        if (!(error instanceof MaitredError) || !AGAIN.has(error.code) || ask.signal?.aborted) throw error;
        mayHaveHappened ||= error.outcome === 'unknown';
        const delayMs = backOff(tried);
        if (Date.now() + delayMs >= until) throw mayHaveHappened ? unproven(error) : error;
        this.retrying(error, delayMs);
        await pause(delayMs, ask.signal);
      }
    }
  }

  retrying(error: MaitredError, delayMs: number): void {
    this.#options.onRetry?.(error, delayMs);
  }

  async askOnce<T>(method: string, path: string, ask: Ask = {}): Promise<T> {
    const response = await this.open(method, path, ask);
    const body = await response.json().catch(() => ask.signal?.throwIfAborted());
    if (response.ok && body !== undefined) return body as T;
    throw problem(response, body, this.url, method);
  }

  /** The answer as it comes in. */
  async open(method: string, path: string, ask: Ask): Promise<Response> {
    const within = AbortSignal.timeout(wholeMs(ask.withinMs ?? TRY_WITHIN_MS));
    const headers = { ...this.#headers, ...(ask.id ? { 'idempotency-key': checkedHeader('id', ask.id) } : {}) };
    const request: RequestInit = {
      method,
      redirect: 'manual',
      signal: ask.signal ? AbortSignal.any([ask.signal, within]) : within,
      headers: ask.body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
    };
    const send = this.#options.fetch ?? globalThis.fetch;
    try {
      return await send(this.url + path + query(ask.query), request);
    } catch (cause) {
      ask.signal?.throwIfAborted();
      const why = within.aborted ? 'no answer came in time' : told(cause);
      const message = `${this.url} could not be asked: ${why}; is the server running, and is MAITRED_URL right?`;
      const isHarmless = method === 'GET' || wasNeverSent(cause);
      throw new MaitredError(isHarmless ? 'unavailable' : 'unknown', message, { cause });
    }
  }
}

/** What a timer takes. */
const wholeMs = (ms: number) => Math.min(LONGEST_TIMER_MS, Math.max(1, Math.ceil(ms)));

/** The last try proves that it did nothing itself, and says nothing of one before it. */
export function unproven(error: MaitredError): MaitredError {
  if (error.outcome === 'unknown') return error;
  const { message, status, details, requestId, cause } = error;
  return new MaitredError('unknown', `${message} (an earlier try may have been heard)`, { status, details, requestId, cause });
}

function query(fields: Ask['query']): string {
  const given = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/** What a refusal says. A body without a `reason` is not the limiter's: a proxy's, or that of another service. */
function problem(response: Response, body: unknown, url: string, method: string): MaitredError {
  const { status } = response;
  const fields = (body ?? {}) as { reason?: unknown; message?: unknown; details?: unknown; request_id?: string };
  if (!response.ok && typeof fields.reason === 'string') {
    const { details, request_id: requestId } = fields;
    return new MaitredError(fields.reason, String(fields.message), { status, details, requestId });
  }
  const mayHaveHappened = method !== 'GET' && (status >= 500 || response.ok);
  const message = `what answers at ${url} is not this limiter (status ${status}); is MAITRED_URL right?`;
  return new MaitredError(mayHaveHappened ? 'unknown' : 'unavailable', message, { status });
}

/** Doubles, up to a ceiling, and is spread by half so that many callers do not come back at once. */
export function backOff(tried: number): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** tried);
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

/** Waits, or throws the reason for which the caller gave up. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    }
  });
}
