import { FairShare } from './fair-share.ts';
import { type EvaluationLag, LagDetector } from './lag-detector.ts';
import { Pace } from './pace.ts';

interface Mark {
  readonly atMs: number;
  readonly admitted: number;
}

/** Records how many events had been admitted at which time. */
class Arrivals {
  #marks: Mark[] = [];

  /**
   * @param admitted number of all events admitted so far
   * @param nowMs monotonic time, in milliseconds
   */
  note(admitted: number, nowMs: number): void {
    this.#marks.push({ atMs: nowMs, admitted });
  }

  /** Events admitted until a time, by linear interpolation. Must be called with increasing times. */
  until(atMs: number): number {
    const after = this.#marks.findIndex((mark) => mark.atMs >= atMs);
    const next = this.#marks[after];
    if (next === undefined) return this.#marks.at(-1)?.admitted ?? 0;
    const before = this.#marks[after - 1];
    if (before === undefined) return next.admitted;
    if (after > 1) this.#marks = this.#marks.slice(after - 1);
    return before.admitted + ((next.admitted - before.admitted) * (atMs - before.atMs)) / (next.atMs - before.atMs);
  }
}

/** Decides how much each tenant may send, given the lag of evaluation. Deterministic: the time is an argument. */
export class LoadControl {
  readonly #shares = new FairShare();
  readonly #arrivals = new Arrivals();
  readonly #judge = new LagDetector();
  readonly #pace = new Pace();
  #tickedAtMs: number | null = null;

  /** Limit of events per second for one tenant; Infinity if no tenant is throttled. */
  get level(): number {
    return this.#shares.level;
  }

  /** Returns null if the events are admitted; otherwise the time to wait, in milliseconds. */
  admit(tenantId: string, events: number, nowMs: number): number | null {
    return this.#shares.admit(tenantId, events, nowMs);
  }

  /** Call several times a second with the lag at that time. */
  tick(lag: EvaluationLag, nowMs: number): void {
    const { admitted } = this.#shares;
    this.#arrivals.note(admitted, nowMs);
    // The oldest unsettled message arrived `backlogAgeMs` ago, so about everything admitted until then has been
    // handled.
    const handled = this.#arrivals.until(nowMs - lag.backlogAgeMs);
    const reading = { atMs: nowMs, lag, admitted, handled };
    const lagState = this.#judge.read(reading);
    this.#shares.share(this.#pace.next(reading, lagState), nowMs - (this.#tickedAtMs ?? nowMs));
    this.#tickedAtMs = nowMs;
    if (lagState !== 'overloaded' && this.#shares.level === Number.POSITIVE_INFINITY) this.#pace.release();
  }
}
