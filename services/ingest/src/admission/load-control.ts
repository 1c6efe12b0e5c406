import { agentEvents, GROUPS } from '@agentlens/contracts';
import { type ConsumerLag, type EventBus, NO_LAG } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import type { FairShare } from './fair-share.ts';

/**
 * Lag beyond which evaluation would be late for the tenants that do not cause it. Not shorter than the time it takes to
 * distinguish an outage from overload, otherwise the first second of an outage would reject clients.
 */
const BEHIND_MS = 1_000;
/** If the age grows by more than this share of the elapsed time, it grows with the clock. */
const WITH_THE_CLOCK = 0.95;
/** If the backlog shrinks by this share of what is handled, evaluation is catching up. */
const WORKED_OFF = 0.1;
/** Growth is judged over this period, because single readings jump by a batch. */
const JUDGED_OVER_MS = 1_000;

/**
 * State of evaluation.
 *
 * - `calm`: the lag is small.
 * - `stalled`: nothing is settled (Redis is unavailable or no evaluator runs). The stream keeps events for days, and
 *   rejecting clients would lose what waiting saves.
 * - `held`: a consumer that is gone holds a few messages, which will be redelivered regardless of the admission rate;
 *   all others are settled as they arrive.
 * - `catching up`: evaluation is behind and settles more than arrives, for example after a stall.
 * - `overloaded`: evaluation is behind and does not catch up by itself.
 */
export type LagState = 'calm' | 'stalled' | 'held' | 'catching up' | 'overloaded';

/** The part of the consumer lag that is used. */
export type EvaluationLag = Pick<ConsumerLag, 'pending' | 'oldestAgeMs' | 'backlogAgeMs'>;

export interface LagReading {
  readonly atMs: number;
  readonly lag: EvaluationLag;
  /** Number of events admitted so far. */
  readonly admitted: number;
  /** The number of those that are settled, as far as the lag shows. */
  readonly handled: number;
}

/** Derives the state of evaluation from how its lag moved within the last second. */
export class LagDetector {
  #readings: LagReading[] = [];
  #awayAtMs = Number.NEGATIVE_INFINITY;

  read(reading: LagReading): LagState {
    this.#readings.push(reading);
    // Keeps one reading from before the period to measure the growth from.
    while (this.#readings.length > 2 && reading.atMs - (this.#readings[1]?.atMs ?? 0) >= JUDGED_OVER_MS) {
      this.#readings.shift();
    }
    const first = this.#readings[0] ?? reading;
    if (agesWithTheClock('backlogAgeMs', first, reading)) return this.#away('stalled', reading);
    if (reading.lag.pending === 0 && agesWithTheClock('oldestAgeMs', first, reading))
      return this.#away('held', reading);
    if (reading.lag.backlogAgeMs <= BEHIND_MS) return 'calm';
    // If evaluation was away for part of the period, the period does not show overload.
    const wasAway = this.#awayAtMs >= first.atMs;
    return wasAway || isWorkedOff(first, reading) ? 'catching up' : 'overloaded';
  }

  #away(lagState: LagState, { atMs }: LagReading): LagState {
    this.#awayAtMs = atMs;
    return lagState;
  }
}

function agesWithTheClock(age: 'backlogAgeMs' | 'oldestAgeMs', first: LagReading, last: LagReading): boolean {
  const passedMs = last.atMs - first.atMs;
  return passedMs >= JUDGED_OVER_MS && last.lag[age] - first.lag[age] >= passedMs * WITH_THE_CLOCK;
}

function isWorkedOff(first: LagReading, last: LagReading): boolean {
  const handled = last.handled - first.handled;
  const came = last.admitted - first.admitted;
  return handled > 0 && handled - came >= handled * WORKED_OFF;
}

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
class Pace {
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

/**
 * Sets the level of the tenants' shares by the lag of evaluation. The loudest tenants are throttled first, before the
 * others notice the lag. Deterministic: the time is an argument.
 */
export class LoadControl {
  readonly #shares: FairShare;
  readonly #arrivals = new Arrivals();
  readonly #judge = new LagDetector();
  readonly #pace = new Pace();
  #tickedAtMs: number | null = null;

  constructor(shares: FairShare) {
    this.#shares = shares;
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

const TICK_MS = 250;

/** Reads the lag of evaluation for load control. Each gateway instance does this for its own traffic. */
export class LoadMonitor {
  readonly #control: LoadControl;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> | undefined;

  constructor(
    private readonly shares: FairShare,
    private readonly bus: EventBus,
    private readonly clock: Clock,
    private readonly logger: Platform['logger'],
  ) {
    this.#control = new LoadControl(shares);
  }

  start(): void {
    this.#timer = setInterval(() => {
      // A slow answer is awaited: answers out of order would look like leaps in time.
      this.#ticking ??= this.tick().finally(() => {
        this.#ticking = undefined;
      });
    }, TICK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#ticking;
  }

  async tick(): Promise<void> {
    const before = this.shares.level;
    const askedAtMs = this.clock.now();
    const lag = await this.#lag();
    this.#control.tick(lag, askedAtMs);
    const perTenant = this.shares.level;
    if (Number.isFinite(perTenant) === Number.isFinite(before)) return;
    const message = Number.isFinite(perTenant)
      ? 'evaluation is behind, throttling the loudest tenants'
      : 'evaluation has caught up, no tenant is throttled';
    this.logger.warn({ ...lag, perTenant }, message);
  }

  /** An unknown lag counts as no lag. If the broker does not answer, publishing decides. */
  async #lag(): Promise<ConsumerLag> {
    try {
      return await this.bus.lag(agentEvents, GROUPS.guardrailEvaluator);
    } catch (error) {
      this.logger.debug({ err: error }, 'cannot read the lag of the evaluator');
      return NO_LAG;
    }
  }
}
