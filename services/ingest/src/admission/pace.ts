/** The backlog that is aimed at while the platform is behind: enough to keep it busy, not enough to be felt. */
const AIM_MS = 200;
/** Below this the platform keeps up, and the pace may rise. */
const CALM_MS = 150;
/** A backlog of the aim and this much more would be worked off in about this time. */
const WORK_OFF_MS = 2_000;
const LEAST_SHARE = 0.3;
const RAISE_BY = 1.05;
/** Weight of the newest reading; single ones jump by a batch. */
const WEIGHT = 0.2;

interface Mark {
  readonly atMs: number;
  readonly admitted: number;
}

/**
 * How many events per second to let in, learnt from what is let in and how old the backlog is: as many messages as came
 * before that are settled, so about as much as was admitted until then has been handled.
 */
export class Pace {
  #marks: Mark[] = [];
  #handled: number | null = null;
  #handledPerSecond = 0;
  #allowed = Number.POSITIVE_INFINITY;

  /** `admitted` counts all events let in so far. Answers events per second; Infinity where nobody needs to wait. */
  tick(admitted: number, backlogAgeMs: number, overloaded: boolean, nowMs: number): number {
    const previous = this.#marks.at(-1);
    this.#marks.push({ atMs: nowMs, admitted });
    const handled = this.#admittedUntil(nowMs - backlogAgeMs);
    if (previous !== undefined && this.#handled !== null && nowMs > previous.atMs) {
      const reading = (Math.max(0, handled - this.#handled) * 1000) / (nowMs - previous.atMs);
      this.#handledPerSecond += (reading - this.#handledPerSecond) * WEIGHT;
    }
    this.#handled = handled;
    this.#forget(nowMs - backlogAgeMs);
    this.#allowed = this.#next(backlogAgeMs, overloaded);
    return this.#allowed;
  }

  /** Called when nobody was held back for a while. */
  release(): void {
    this.#allowed = Number.POSITIVE_INFINITY;
  }

  #next(backlogAgeMs: number, overloaded: boolean): number {
    if (overloaded) {
      const share = 1 - (backlogAgeMs - AIM_MS) / WORK_OFF_MS;
      return this.#handledPerSecond * Math.min(1, Math.max(LEAST_SHARE, share));
    }
    // What is being handled may come in, whatever was learnt while little was.
    return backlogAgeMs < CALM_MS ? Math.max(this.#allowed, this.#handledPerSecond) * RAISE_BY : this.#allowed;
  }

  /** By linear interpolation between the marks. */
  #admittedUntil(atMs: number): number {
    const after = this.#marks.findIndex((mark) => mark.atMs >= atMs);
    const next = this.#marks[after];
    if (next === undefined) return this.#marks.at(-1)?.admitted ?? 0;
    const before = this.#marks[after - 1];
    if (before === undefined) return next.admitted;
    const share = (atMs - before.atMs) / (next.atMs - before.atMs);
    return before.admitted + (next.admitted - before.admitted) * share;
  }

  #forget(beforeMs: number): void {
    const needed = this.#marks.findIndex((mark) => mark.atMs >= beforeMs);
    if (needed > 1) this.#marks = this.#marks.slice(needed - 1);
  }
}
