import { MinIntervalGate } from '../util/schedule.ts';

interface PumpLimits {
  readonly maxBatch: number;
  readonly concurrency: number;
  /** Minimum interval between the starts of two batches, ms. */
  readonly paceMs: number;
}

/**
 * Runs batches of ready items with bounded concurrency and without polling. `kick` signals that items may be ready;
 * items that arrive in the same turn of the event loop, or while the pace allows no new batch, share a batch.
 */
export class BatchPump<D> {
  private active = 0;
  private scheduled = false;
  private closed = false;
  private idle: (() => void)[] = [];
  private readonly gate = new MinIntervalGate(() => this.fill());

  constructor(
    private readonly take: (max: number) => readonly D[],
    private readonly run: (batch: readonly D[]) => Promise<void>,
    private readonly limits: PumpLimits,
  ) {}

  kick(): void {
    if (this.scheduled || this.closed || this.active >= this.limits.concurrency) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      this.fill();
    });
  }

  /** Starts no further batch and waits for running ones. */
  async close(): Promise<void> {
    this.closed = true;
    this.gate.cancel();
    if (this.active > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  private fill(): void {
    while (!this.closed && this.active < this.limits.concurrency) {
      if (this.gate.isClosed()) return;
      const batch = this.take(this.limits.maxBatch);
      if (batch.length === 0) return;
      this.gate.closeFor(this.limits.paceMs);
      this.active += 1;
      void this.run(batch).finally(() => this.finished());
    }
  }

  private finished(): void {
    this.active -= 1;
    this.fill();
    if (this.active > 0) return;
    for (const wake of this.idle.splice(0)) wake();
  }
}
