import { BUCKETS } from '../lifetimes.ts';
import type { Contribution } from '../windows/plan.ts';
import { windowStart } from '../windows/plan.ts';
import { type Cell, count, emptyCell, merge, takeAway } from './cell.ts';
import type { Form } from './memory-snapshots.ts';

interface RingData {
  readonly head: number;
  readonly running: Cell;
  readonly cells: readonly (Cell | undefined)[];
}

/**
 * The newest 60 buckets of one series, with running count and sum. The head only moves forward; what happened before
 * the head's window is not taken in, so an old message leaves the same ring before and after a new one.
 */
export class Ring {
  #head: number;
  #running = emptyCell();
  readonly #cells = new Array<Cell | undefined>(BUCKETS);

  constructor(head: number) {
    this.#head = head;
  }

  /** The ring as data. */
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

  /** Amortised O(1): every bucket that leaves was once added. */
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

  /** Count and sum alone, where the window ends at the head; everything else is gathered from the buckets. */
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

/** Buckets before 1970 have negative numbers; their slots are not negative. */
function slotOf(epoch: number): number {
  return ((epoch % BUCKETS) + BUCKETS) % BUCKETS;
}

export const RING_FORM: Form<Ring> = { put: (ring) => ring.put(), take: (data) => Ring.take(data as RingData) };
