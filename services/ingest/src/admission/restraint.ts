import { performance } from 'node:perf_hooks';
import { TenantRates } from './fair-share.ts';

/** Time used by this thread so far, in milliseconds. */
export interface ThreadUse {
  /** Time not spent waiting for events. */
  readonly activeMs: number;
  /** CPU time. */
  readonly cpuMs: number;
}

/** Reads the time used by the current thread. */
export function threadUse(): ThreadUse {
  const { user, system } = process.threadCpuUsage();
  return { activeMs: performance.eventLoopUtilization().active, cpuMs: (user + system) / 1_000 };
}

/** Minimum CPU time for a meaningful ratio, in milliseconds. */
const MIN_CPU_MS = 5;

/**
 * Measures how scarce the CPU is: the ratio of active time to CPU time of this thread since the last reading. 1 on an
 * idle machine; 2 if the thread waits for a CPU as long as it has one.
 */
export class Contention {
  #last: ThreadUse;

  constructor(private readonly use: () => ThreadUse = threadUse) {
    this.#last = use();
  }

  /** Returns 1 if the thread had almost nothing to do. */
  read(): number {
    const { activeMs, cpuMs } = this.use();
    const active = activeMs - this.#last.activeMs;
    const cpu = cpuMs - this.#last.cpuMs;
    if (cpu < MIN_CPU_MS) return 1;
    this.#last = { activeMs, cpuMs };
    return Math.max(1, active / cpu);
  }
}

/** Interval between two readings of the contention. */
const LOOK_MS = 250;
/** From this contention on, an event waits for the CPU almost as long as it is worked on. */
const SCARCE = 1.7;
/** Below this contention, CPU is available. */
const ENOUGH = 1.3;
/** Lower bound of the factor per step. Usually the rate falls in proportion to the contention. */
const LOWER_BY = 0.6;
const RAISE_BY = 1.05;
/** A throttled tenant keeps at least this share of its earlier rate, because something else may use the CPU. */
const MIN_SHARE = 0.5;
/** A tenant that sends more than this share of all events floods. */
const FLOOD_SHARE = 0.5;

/** The tenant that floods, and its limit. */
interface Flood {
  readonly tenantId: string;
  /** Its rate before it was throttled, in events per second. */
  unrestrained: number;
  perSecond: number;
  restsUntilMs: number;
}

/**
 * Throttles a tenant that floods while other tenants are active and the CPU is scarce, because the others wait for its
 * CPU time at each step of their events. A tenant that is alone is not throttled.
 */
export class Restraint {
  readonly #rates = new TenantRates();
  #flood: Flood | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * @param onChange called when a tenant starts or stops being throttled, with its limit in events per second or
   * Infinity
   */
  constructor(
    private readonly onChange: (tenantId: string, perSecond: number) => void = () => undefined,
    private readonly contention: Pick<Contention, 'read'> = new Contention(),
  ) {}

  /** Current limit of the tenant in events per second; Infinity if it is not throttled. */
  perSecondOf(tenantId: string): number {
    return this.#flood?.tenantId === tenantId ? this.#flood.perSecond : Number.POSITIVE_INFINITY;
  }

  /** True if a tenant is throttled. */
  get isActive(): boolean {
    return this.#flood !== undefined && Number.isFinite(this.#flood.perSecond);
  }

  /** Time until which no further event of this tenant may start. */
  restsUntil(tenantId: string): number {
    return this.#flood?.tenantId === tenantId ? this.#flood.restsUntilMs : Number.NEGATIVE_INFINITY;
  }

  /** Notes that events of a tenant started. */
  begun(tenantId: string, events: number, nowMs: number): void {
    this.#rates.add(tenantId, events);
    const flood = this.#flood;
    if (flood?.tenantId !== tenantId || flood.perSecond === Number.POSITIVE_INFINITY) return;
    flood.restsUntilMs = Math.max(nowMs, flood.restsUntilMs) + (events * 1_000) / flood.perSecond;
  }

  /** Call on every request. Times are monotonic, in milliseconds. */
  look(nowMs: number, othersAreThere: boolean): void {
    const sinceMs = nowMs - this.#lookedAtMs;
    if (sinceMs < LOOK_MS) return;
    this.#lookedAtMs = nowMs;
    const before = this.#flood;
    const wasRestrained = this.isActive;
    this.#rates.measure(sinceMs);
    this.#judge(this.contention.read(), othersAreThere);
    const { tenantId = before?.tenantId ?? '', perSecond = Number.POSITIVE_INFINITY } = this.#flood ?? {};
    if (wasRestrained !== this.isActive) this.onChange(tenantId, perSecond);
  }

  #judge(contention: number, othersAreThere: boolean): void {
    const loudest = this.#loudest();
    if (loudest === undefined || !othersAreThere) {
      this.#flood = undefined;
      return;
    }
    const [tenantId, rate] = loudest;
    if (this.#flood?.tenantId !== tenantId) this.#flood = unrestrained(tenantId);
    if (this.#flood.perSecond === Number.POSITIVE_INFINITY) this.#flood.unrestrained = rate;
    adjust(this.#flood, rate, contention);
  }

  /** The tenant that sends the majority of all events, and its rate per second. */
  #loudest(): readonly [string, number] | undefined {
    let all = 0;
    let loudest: readonly [string, number] = ['', 0];
    for (const [tenantId, rate] of this.#rates.perSecond) {
      all += rate;
      if (rate > loudest[1]) loudest = [tenantId, rate];
    }
    return loudest[1] > all * FLOOD_SHARE ? loudest : undefined;
  }
}

function unrestrained(tenantId: string): Flood {
  const perSecond = Number.POSITIVE_INFINITY;
  return { tenantId, unrestrained: 0, perSecond, restsUntilMs: Number.NEGATIVE_INFINITY };
}

function adjust(flood: Flood, rate: number, contention: number): void {
  if (contention > SCARCE) {
    const lower = Math.min(flood.perSecond, rate) * Math.max(LOWER_BY, SCARCE / contention);
    flood.perSecond = Math.max(lower, flood.unrestrained * MIN_SHARE);
  } else if (contention < ENOUGH) {
    flood.perSecond *= RAISE_BY;
    if (flood.perSecond > flood.unrestrained) flood.perSecond = Number.POSITIVE_INFINITY;
  }
}
