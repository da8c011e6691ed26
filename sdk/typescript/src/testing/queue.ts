/**
 * Limits and slots, the obvious way: everything is looked through from the start each time. It keeps the rules that a
 * caller can see (order, reservation, lapse, timeout, expiry, release) and none of the speed.
 */
import type { AcquireFields, LimitInfo, SlotInfo, SlotState } from '../wire.js';

const RESERVATION_MS = 120_000;

export interface Limit {
  name: string;
  declared: { capacity: number; maxHoldMs: number };
  capacity?: number | undefined;
  maxHoldMs?: number | undefined;
  isPaused: boolean;
  isRetired: boolean;
}

export interface Asked extends AcquireFields {
  slot: string;
  weights: Map<string, number>;
  timeoutMs: number;
}

export interface Slot {
  asked: Asked;
  state: SlotState;
  /** Its place in every queue it stands in. */
  order: number;
  askedAt: number;
  queuedAt: number;
  givesUpAt: number;
  laps: number;
  grantedAt?: number;
  lapsesAt?: number;
  expiresAt?: number;
  fence?: number;
  /** The open call that waits for it. */
  line?: ((slot: Slot) => void) | undefined;
}

const WAITS = new Set<SlotState>(['queued']);
const HOLDS = new Set<SlotState>(['reserved', 'busy']);

export class Queue {
  now: number;
  readonly limits = new Map<string, Limit>();
  readonly slots = new Map<string, Slot>();
  #order = 0;
  #fence = 0;

  constructor(now: number) {
    this.now = now;
  }

  /** Steps through everything that is due on the way. */
  advanceTo(at: number): void {
    for (let due = this.#nextDue(at); due; due = this.#nextDue(at)) {
      this.now = Math.max(this.now, due.at);
      due.happens();
      this.grant();
    }
    this.now = Math.max(this.now, at);
  }

  /** Expiry before lapse before timeout, at one instant by the queue's order. */
  #nextDue(until: number): { at: number; happens: () => void } | undefined {
    const all = [...this.slots.values()].flatMap((slot) => {
      if (slot.state === 'busy') return [{ at: slot.expiresAt!, rank: 0, slot, happens: () => this.end(slot, 'expired') }];
      if (slot.state === 'reserved') return [{ at: slot.lapsesAt!, rank: 1, slot, happens: () => this.#lapse(slot) }];
      if (slot.state === 'queued') return [{ at: slot.givesUpAt, rank: 2, slot, happens: () => this.end(slot, 'timed_out') }];
      return [];
    });
    const due = all.filter(({ at }) => at <= until);
    return due.sort((a, b) => a.at - b.at || a.rank - b.rank || a.slot.order - b.slot.order)[0];
  }

  #lapse(slot: Slot): void {
    if (slot.givesUpAt <= this.now) return this.end(slot, 'timed_out');
    slot.laps += 1;
    slot.state = 'queued';
    slot.order = this.#order += 1;
    slot.queuedAt = this.now;
  }

  join(asked: Asked): Slot {
    const { now } = this;
    const order = (this.#order += 1);
    const givesUpAt = now + asked.timeoutMs;
    const slot: Slot = { asked, state: 'queued', order, askedAt: now, queuedAt: now, givesUpAt, laps: 0 };
    this.slots.set(asked.slot, slot);
    return slot;
  }

  /** Everybody who is first in each queue they stand in, and for whom there is room. */
  grant(): void {
    for (const slot of this.inOrder(WAITS)) {
      const limits = [...slot.asked.weights].map(([name, weight]) => ({ limit: this.limits.get(name)!, weight }));
      const isNext = limits.every(({ limit }) => this.queue(limit.name)[0] === slot);
      const hasRoom = limits.every(({ limit, weight }) => !limit.isPaused && this.used(limit.name) + weight <= capacity(limit));
      if (!isNext || !hasRoom) continue;
      const maxHoldMs = Math.min(...limits.map(({ limit }) => maxHold(limit)));
      slot.state = slot.line && slot.asked.confirm === 'auto' ? 'busy' : 'reserved';
      slot.grantedAt = this.now;
      slot.expiresAt = this.now + maxHoldMs;
      slot.lapsesAt = this.now + Math.min(RESERVATION_MS, maxHoldMs);
      slot.fence = this.#fence += 1;
      this.tell(slot);
    }
  }

  end(slot: Slot, state: SlotState): void {
    slot.state = state;
    this.tell(slot);
    for (const name of slot.asked.weights.keys()) {
      const isEmpty = this.holders(name).length + this.queue(name).length === 0;
      if (this.limits.get(name)?.isRetired && isEmpty) this.limits.delete(name);
    }
  }

  /** Whoever is on the line hears of it, and the line ends. */
  tell(slot: Slot): void {
    const { line } = slot;
    slot.line = undefined;
    line?.(slot);
  }

  /** Of a run that is over: what it waits for, what is reserved for it, and what it holds for as long as it runs. */
  endRun(run: string): void {
    const isFreed = (slot: Slot) => slot.state !== 'busy' || slot.asked.hold === 'run';
    const live = this.ofRun(run).filter(isFreed);
    live.forEach((slot) => this.end(slot, 'run_ended'));
    this.grant();
  }

  ofRun(run: string): Slot[] {
    return this.inOrder(new Set([...WAITS, ...HOLDS])).filter((slot) => slot.asked.run === run);
  }

  used(limit: string): number {
    return this.holders(limit).reduce((sum, slot) => sum + slot.asked.weights.get(limit)!, 0);
  }

  holders(limit: string): Slot[] {
    return this.inOrder(HOLDS).filter((slot) => slot.asked.weights.has(limit));
  }

  queue(limit: string): Slot[] {
    return this.inOrder(WAITS).filter((slot) => slot.asked.weights.has(limit));
  }

  inOrder(states: Set<SlotState>): Slot[] {
    return [...this.slots.values()].filter(({ state }) => states.has(state)).sort((a, b) => a.order - b.order);
  }
}

export const capacity = (limit: Limit) => limit.capacity ?? limit.declared.capacity;
export const maxHold = (limit: Limit) => limit.maxHoldMs ?? limit.declared.maxHoldMs;

export function limitInfo(queue: Queue, limit: Limit): LimitInfo {
  const holders = queue.holders(limit.name);
  const sum = (slots: Slot[]) => slots.reduce((sum, slot) => sum + slot.asked.weights.get(limit.name)!, 0);
  const [busy, reserved] = (['busy', 'reserved'] as const).map((state) => holders.filter((slot) => slot.state === state));
  const waiting = queue.queue(limit.name);
  const first = waiting[0];
  return {
    limit: limit.name,
    capacity: capacity(limit),
    max_hold_ms: maxHold(limit),
    declared_capacity: limit.declared.capacity,
    declared_max_hold_ms: limit.declared.maxHoldMs,
    ...(limit.capacity === undefined ? {} : { capacity_override: limit.capacity }),
    ...(limit.maxHoldMs === undefined ? {} : { max_hold_override_ms: limit.maxHoldMs }),
    paused: limit.isPaused,
    retired: limit.isRetired,
    busy: sum(busy!),
    reserved: sum(reserved!),
    available: Math.max(0, capacity(limit) - sum(holders)),
    busy_slots: busy!.length,
    reserved_slots: reserved!.length,
    waiting: waiting.length,
    ...(first ? { oldest_queued_at: first.queuedAt } : {}),
  };
}

/** A slot that has ended has only its id and its state. */
export function slotInfo(queue: Queue, slot: Slot): SlotInfo {
  const { asked, state } = slot;
  const info = { slot: asked.slot, state };
  if (!WAITS.has(state) && !HOLDS.has(state)) return info;
  const first = [...asked.weights.keys()][0]!;
  const granted = HOLDS.has(state) ? { granted_at: slot.grantedAt!, expires_at: slot.expiresAt!, fence: slot.fence! } : {};
  return {
    ...info,
    ...(state === 'queued' ? { place: queue.queue(first).indexOf(slot) + 1, gives_up_at: slot.givesUpAt } : granted),
    ...(state === 'reserved' ? { lapses_at: slot.lapsesAt! } : {}),
    limits: [...asked.weights].map(([limit, weight]) => ({ limit, weight })),
    ...(asked.run ? { run: asked.run } : {}),
    ...(asked.workflow ? { workflow: asked.workflow } : {}),
    ...(asked.label ? { label: asked.label } : {}),
    confirm: asked.confirm ?? 'holder',
    hold: asked.hold ?? 'released',
    asked_at: slot.askedAt,
    queued_at: slot.queuedAt,
    ...(slot.laps ? { laps: slot.laps } : {}),
  };
}
