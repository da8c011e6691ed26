/** Rates and places in flight: fixed windows that begin with the first hit, all or none over a call. */
import type { Decision, SpecFields, SpecResult } from '../wire.js';

const PLACE_MS = 3_600_000;

interface Window {
  endsAt: number;
  used: number;
}

interface Hit {
  window: Window;
  cost: number;
}

export interface Asking {
  task: string;
  run?: string;
  specs: SpecFields[];
  check?: boolean;
}

export class Rates {
  readonly #windows = new Map<string, Window>();
  /** When each run's place ends, by task and key. */
  readonly #places = new Map<string, Map<string, number>>();
  /** Hits that are given back if their run does not succeed. */
  readonly #hits = new Map<string, Hit[]>();

  /** A check answers as the call would, and changes nothing. */
  admit(asking: Asking, now: number): Decision {
    const looks = asking.specs.map((spec) => this.#look(spec, asking, now));
    const isOver = looks.some(({ over }) => over);
    if (!isOver && !asking.check) asking.specs.forEach((spec) => this.#take(spec, asking, now));
    return verdict(asking.specs, isOver ? looks.map(({ before }) => before) : looks.map(({ after }) => after), now);
  }

  /** As it stands, and as it would stand after the call. */
  #look(spec: SpecFields, { task, run }: Asking, now: number): { over: boolean; before: SpecResult; after: SpecResult } {
    const limit = Number(spec.limit);
    const name = `${task}\n${spec.key}`;
    const isPlace = spec.windowSeconds === undefined;
    const held = this.#inFlight(name, now);
    const window = this.#window(name, now);
    const cost = isPlace ? Number(run === undefined || !held.has(run)) : Number(spec.cost ?? 1);
    const used = isPlace ? held.size : (window?.used ?? 0);
    const endsAt = window?.endsAt ?? now + Number(spec.windowSeconds) * 1000;
    const resetSeconds = isPlace ? 0 : Math.ceil((endsAt - now) / 1000);
    const over = cost > 0 && used + cost > limit;
    const label = spec.label == null ? {} : { label: spec.label };
    const as = (used: number) => ({ ...label, limit, used, remaining: Math.max(0, limit - used), resetSeconds, over });
    return { over, before: as(used), after: as(used + cost) };
  }

  #take(spec: SpecFields, { task, run }: Asking, now: number): void {
    const name = `${task}\n${spec.key}`;
    if (spec.windowSeconds === undefined) {
      const held = this.#inFlight(name, now);
      if (!held.has(run!)) held.set(run!, now + PLACE_MS);
      return;
    }
    const cost = Number(spec.cost ?? 1);
    const window = this.#window(name, now) ?? { endsAt: now + Number(spec.windowSeconds) * 1000, used: 0 };
    window.used += cost;
    this.#windows.set(name, window);
    if (spec.countSuccessesOnly) this.#hits.set(run!, [...(this.#hits.get(run!) ?? []), { window, cost }]);
  }

  #window(name: string, now: number): Window | undefined {
    const window = this.#windows.get(name);
    return window && window.endsAt > now && window.used > 0 ? window : undefined;
  }

  #inFlight(name: string, now: number): Map<string, number> {
    const held = this.#places.get(name) ?? new Map<string, number>();
    this.#places.set(name, held);
    for (const [run, endsAt] of held) if (endsAt <= now) held.delete(run);
    return held;
  }

  endRun(run: string, isSuccess: boolean): void {
    for (const held of this.#places.values()) held.delete(run);
    const hits = this.#hits.get(run) ?? [];
    this.#hits.delete(run);
    if (!isSuccess) for (const { window, cost } of hits) window.used = Math.max(0, window.used - cost);
  }
}

function verdict(specs: SpecFields[], results: SpecResult[], asOf: number): Decision {
  const isPlace = (index: number) => specs[index]!.windowSeconds === undefined;
  const over = results.flatMap((result, index) => (result.over ? [index] : []));
  const isOver = over.length > 0;
  const longest = [...over].sort((a, b) => results[b]!.resetSeconds - results[a]!.resetSeconds)[0];
  const blockedBy = over.find(isPlace) ?? longest;
  const type = isPlace(blockedBy ?? 0) ? 'concurrency' : 'rate';
  const retryAfterSeconds = isOver && type === 'rate' ? results[blockedBy!]!.resetSeconds : 0;
  const decision = { type, overLimit: isOver, retryAfterSeconds, degraded: false, results, asOf } as const;
  return blockedBy === undefined ? decision : { ...decision, blockedBy };
}
