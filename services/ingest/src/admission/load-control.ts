import { FairShare } from './fair-share.ts';
import { type EvaluationLag, LagDetector } from './lag-detector.ts';
import { Pace } from './pace.ts';

interface Mark {
  readonly atMs: number;
  readonly admitted: number;
}

/** How many events had been let in when. */
class Arrivals {
  #marks: Mark[] = [];

  /** `admitted` counts all events let in so far. Times only go forward. */
  note(admitted: number, nowMs: number): void {
    this.#marks.push({ atMs: nowMs, admitted });
  }

  /** How many had been let in until then, by linear interpolation. Earlier times are not asked for any more. */
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

/** Who may send how much, given how far evaluation is behind. Pure but for its memory: time comes as an argument. */
export class LoadControl {
  readonly #shares = new FairShare();
  readonly #arrivals = new Arrivals();
  readonly #judge = new LagDetector();
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

  /** To be called several times a second with how far evaluation was behind at that time. */
  tick(lag: EvaluationLag, nowMs: number): void {
    const { admitted } = this.#shares;
    this.#arrivals.note(admitted, nowMs);
    // As many messages as came before that are settled, so about as much as was admitted until then has been handled.
    const handled = this.#arrivals.until(nowMs - lag.backlogAgeMs);
    const reading = { atMs: nowMs, lag, admitted, handled };
    const lagState = this.#judge.read(reading);
    this.#shares.share(this.#pace.next(reading, lagState), nowMs - (this.#tickedAtMs ?? nowMs));
    this.#tickedAtMs = nowMs;
    if (lagState !== 'overloaded' && this.#shares.level === Number.POSITIVE_INFINITY) this.#pace.release();
  }
}
