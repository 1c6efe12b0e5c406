import type { SeriesShape, Totals } from '@agentlens/guardrails';
import { binsOf, greatestBins } from '@agentlens/guardrails/ports';
import { type ExactSum, minus, plus, toNumber, ZERO } from '../exact-numbers.ts';
import { BUCKETS } from '../lifetimes.ts';
import { type Contribution, windowStart } from '../windows/plan.ts';
import type { Form } from './memory-snapshots.ts';

/** Content of one bucket or one total. */
export interface Cell {
  count: number;
  sum: ExactSum;
  min: number;
  max: number;
  lastAtMs: number;
  lastValue: number;
  readonly bins: Map<number, number>;
}

export function emptyCell(): Cell {
  return {
    count: 0,
    sum: ZERO,
    min: Number.POSITIVE_INFINITY,
    max: Number.NEGATIVE_INFINITY,
    lastAtMs: Number.NEGATIVE_INFINITY,
    lastValue: Number.NEGATIVE_INFINITY,
    bins: new Map(),
  };
}

export function count(cell: Cell, contribution: Contribution): void {
  const { value, atMs, bin } = contribution;
  cell.count += 1;
  cell.sum = plus(cell.sum, contribution.amount);
  cell.min = Math.min(cell.min, value);
  cell.max = Math.max(cell.max, value);
  keepNewest(cell, atMs, value);
  if (bin !== null) cell.bins.set(bin, (cell.bins.get(bin) ?? 0) + 1);
}

/** Of two values in the same millisecond the larger wins, so that arrival order does not matter. */
function keepNewest(cell: Cell, atMs: number, value: number): void {
  if (atMs < cell.lastAtMs || (atMs === cell.lastAtMs && value <= cell.lastValue)) return;
  cell.lastAtMs = atMs;
  cell.lastValue = value;
}

export function merge(into: Cell, from: Cell): void {
  into.count += from.count;
  into.sum = plus(into.sum, from.sum);
  into.min = Math.min(into.min, from.min);
  into.max = Math.max(into.max, from.max);
  keepNewest(into, from.lastAtMs, from.lastValue);
  for (const [bin, binCount] of from.bins) into.bins.set(bin, (into.bins.get(bin) ?? 0) + binCount);
}

/** Only count and sum can be subtracted. */
function takeAway(total: Cell, gone: Cell): void {
  total.count -= gone.count;
  total.sum = minus(total.sum, gone.sum);
}

/** @param coming number of values that will be added to the result */
export function totalsOf(cell: Cell, shape: SeriesShape, coming = 0): Totals {
  const extremes = shape !== 'sum' && cell.count > 0;
  return {
    count: cell.count,
    sum: toNumber(cell.sum),
    min: extremes ? cell.min : null,
    max: extremes ? cell.max : null,
    last: extremes ? { atMs: cell.lastAtMs, value: cell.lastValue } : null,
    bins: greatestBins(binsOf(cell.bins), cell.count, coming),
  };
}

interface RingData {
  readonly head: number;
  readonly running: Cell;
  readonly cells: readonly (Cell | undefined)[];
}

/**
 * The newest 60 buckets of a series, with running count and sum. The head only moves forward, and events before its
 * window are ignored, so the ring does not depend on whether an old message arrives before or after a new one.
 */
export class Ring {
  #head: number;
  #running = emptyCell();
  readonly #cells = new Array<Cell | undefined>(BUCKETS);

  constructor(head: number) {
    this.#head = head;
  }

  /** The ring as plain data. */
  put(): RingData {
    return { head: this.#head, running: this.#running, cells: this.#cells };
  }

  static take({ head, running, cells }: RingData): Ring {
    const ring = new Ring(head);
    ring.#running = running;
    cells.forEach((cell, slot) => {
      ring.#cells[slot] = cell;
    });
    return ring;
  }

  /** Amortized O(1), because every expired bucket was added once. */
  moveTo(epoch: number): void {
    if (epoch - this.#head >= BUCKETS) {
      this.#cells.fill(undefined);
      this.#running = emptyCell();
    } else {
      for (let next = this.#head + 1; next <= epoch; next++) this.#drop(slotOf(next));
    }
    this.#head = Math.max(this.#head, epoch);
  }

  #drop(slot: number): void {
    const cell = this.#cells[slot];
    if (cell) takeAway(this.#running, cell);
    this.#cells[slot] = undefined;
  }

  add(contribution: Contribution): void {
    if (contribution.epoch < windowStart(this.#head)) return;
    const slot = slotOf(contribution.epoch);
    const cell = this.#cells[slot] ?? emptyCell();
    this.#cells[slot] = cell;
    count(cell, contribution);
    count(this.#running, contribution);
  }

  /** Count and sum only if the window ends at the head; otherwise everything is merged from the buckets. */
  totalsAt(epoch: number, sumOnly: boolean): Cell {
    if (sumOnly && epoch === this.#head) return { ...this.#running, bins: new Map() };
    const gathered = emptyCell();
    const last = Math.min(epoch, this.#head);
    for (let at = windowStart(Math.max(epoch, this.#head)); at <= last; at++) {
      const cell = this.#cells[slotOf(at)];
      if (cell) merge(gathered, cell);
    }
    return gathered;
  }
}

/** Buckets before 1970 have negative numbers; slots do not. */
function slotOf(epoch: number): number {
  return ((epoch % BUCKETS) + BUCKETS) % BUCKETS;
}

export const RING_FORM: Form<Ring> = { put: (ring) => ring.put(), take: (data) => Ring.take(data as RingData) };
