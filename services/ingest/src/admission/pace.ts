import type { LagReading, LagState } from './lag-detector.ts';

/** Backlog to aim for while the platform is behind: enough to keep it busy, too little to notice. */
const TARGET_BACKLOG_MS = 200;
/** Below this backlog the platform keeps up, and the pace may rise. */
const CALM_BACKLOG_MS = 150;
/** Time in which a backlog of this much above the target should be worked off. */
const CATCH_UP_MS = 2_000;
const MIN_ADMIT_SHARE = 0.3;
/** Share of the measured throughput to admit while catching up. */
const CATCH_UP_SHARE = 0.7;
/** Growth per reading: small beyond the known maximum, large when returning to it. */
const PROBE_FACTOR = 1.05;
const RECOVER_FACTOR = 1.5;
/** Decay per reading of the recent maximum throughput. */
const MAX_DECAY = 0.995;
/** Smoothing weight of the newest reading; single readings jump by a batch. */
const EWMA_WEIGHT = 0.2;

/** Admission rate control: learns from measured throughput how many events per second to admit. */
export class Pace {
  #last: LagReading | null = null;
  #handledPerSecond = 0;
  #recentMax = 0;
  #allowed = Number.POSITIVE_INFINITY;

  /** Returns events per second; Infinity if no request needs to wait. */
  next(reading: LagReading, lagState: LagState): number {
    // Throughput during a stall says nothing about capacity.
    if (lagState !== 'stalled') this.#learn(reading);
    this.#last = reading;
    this.#allowed = this.#judge(reading.lag.backlogAgeMs, lagState);
    return this.#allowed;
  }

  /** Called when no tenant has been throttled for a while. */
  release(): void {
    this.#allowed = Number.POSITIVE_INFINITY;
  }

  #learn({ handled, atMs }: LagReading): void {
    const last = this.#last;
    if (last === null || atMs <= last.atMs) return;
    const perSecond = (Math.max(0, handled - last.handled) * 1000) / (atMs - last.atMs);
    this.#handledPerSecond += (perSecond - this.#handledPerSecond) * EWMA_WEIGHT;
    this.#recentMax = Math.max(this.#recentMax * MAX_DECAY, this.#handledPerSecond);
  }

  #judge(backlogAgeMs: number, lagState: LagState): number {
    if (lagState === 'stalled') return Math.max(this.#allowed, this.#recentMax);
    if (lagState === 'overloaded') {
      const share = 1 - (backlogAgeMs - TARGET_BACKLOG_MS) / CATCH_UP_MS;
      return this.#handledPerSecond * Math.min(1, Math.max(MIN_ADMIT_SHARE, share));
    }
    if (lagState === 'catching up') return Math.max(this.#allowed, this.#handledPerSecond * CATCH_UP_SHARE);
    if (lagState === 'calm' && backlogAgeMs >= CALM_BACKLOG_MS) return this.#allowed;
    // Admits at least the measured throughput, even if little was learned while the load was low.
    const known = Math.max(this.#allowed, this.#handledPerSecond);
    return Math.max(known * PROBE_FACTOR, Math.min(known * RECOVER_FACTOR, this.#recentMax));
  }
}
