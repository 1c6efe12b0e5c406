import type { LagReading, LagState } from './lag-detector.ts';

/** The backlog that is aimed at while the platform is behind: enough to keep it busy, not enough to be felt. */
const AIM_MS = 200;
/** Below this the platform keeps up, and the pace may rise. */
const CALM_MS = 150;
/** A backlog of the aim and this much more would be worked off in about this time. */
const WORK_OFF_MS = 2_000;
const LEAST_SHARE = 0.3;
/** What is worked off while this much of what is handled comes. */
const WORKING_OFF_SHARE = 0.7;
/** Towards what is known to be too much in small steps; up to what was handled lately in large ones. */
const RAISE_BY = 1.05;
const RETURN_BY = 1.5;
/** Of the most that was handled lately this much is still thought possible a reading later. */
const LATELY = 0.995;
/** Weight of the newest reading; single ones jump by a batch. */
const WEIGHT = 0.2;

/** How many events per second to let in, learnt from what was handled. */
export class Pace {
  #last: LagReading | null = null;
  #handledPerSecond = 0;
  #mostLately = 0;
  #allowed = Number.POSITIVE_INFINITY;

  /** Answers events per second; Infinity where nobody needs to wait. */
  next(reading: LagReading, lagState: LagState): number {
    // What is handled while nothing can be tells nothing of how much could.
    if (lagState !== 'stalled') this.#learn(reading);
    this.#last = reading;
    this.#allowed = this.#judge(reading.lag.backlogAgeMs, lagState);
    return this.#allowed;
  }

  /** Called when nobody was held back for a while. */
  release(): void {
    this.#allowed = Number.POSITIVE_INFINITY;
  }

  #learn({ handled, atMs }: LagReading): void {
    const last = this.#last;
    if (last === null || atMs <= last.atMs) return;
    const perSecond = (Math.max(0, handled - last.handled) * 1000) / (atMs - last.atMs);
    this.#handledPerSecond += (perSecond - this.#handledPerSecond) * WEIGHT;
    this.#mostLately = Math.max(this.#mostLately * LATELY, this.#handledPerSecond);
  }

  #judge(backlogAgeMs: number, lagState: LagState): number {
    if (lagState === 'stalled') return Math.max(this.#allowed, this.#mostLately);
    if (lagState === 'overloaded') {
      const share = 1 - (backlogAgeMs - AIM_MS) / WORK_OFF_MS;
      return this.#handledPerSecond * Math.min(1, Math.max(LEAST_SHARE, share));
    }
    if (lagState === 'catching up') return Math.max(this.#allowed, this.#handledPerSecond * WORKING_OFF_SHARE);
    if (lagState === 'calm' && backlogAgeMs >= CALM_MS) return this.#allowed;
    // What is being handled may come in, whatever was learnt while little was.
    const known = Math.max(this.#allowed, this.#handledPerSecond);
    return Math.max(known * RAISE_BY, Math.min(known * RETURN_BY, this.#mostLately));
  }
}
