import { FairShare } from './fair-share.ts';
import { type EvaluationLag, Overload } from './overload.ts';
import { Pace } from './pace.ts';

/** Who may send how much, given how far evaluation is behind. Pure but for its memory: time comes as an argument. */
export class LoadControl {
  readonly #shares = new FairShare();
  readonly #overload = new Overload();
  readonly #pace = new Pace();
  #tickedAtMs: number | null = null;

  /** Most events per second for one tenant; Infinity where nobody is held back. */
  get level(): number {
    return this.#shares.level;
  }

  /** Null where the events may come in; else how long to wait until they may, ms. */
  admit(tenantId: string, events: number, nowMs: number): number | null {
    return this.#shares.admit(tenantId, events, nowMs);
  }

  /** To be called several times a second with how far evaluation is behind. */
  tick(lag: EvaluationLag, nowMs: number): void {
    const overloaded = this.#overload.read(lag, nowMs);
    const allowed = this.#pace.tick(this.#shares.admitted, lag.backlogAgeMs, overloaded, nowMs);
    this.#shares.share(allowed, nowMs - (this.#tickedAtMs ?? nowMs));
    this.#tickedAtMs = nowMs;
    if (!overloaded && this.#shares.level === Number.POSITIVE_INFINITY) this.#pace.release();
  }
}
