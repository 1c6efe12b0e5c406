import { performance } from 'node:perf_hooks';
import { TenantRates } from './tenant-rates.ts';

/** What this thread has taken up to now, ms. */
export interface ThreadUse {
  /** Time that was not spent waiting for something to happen. */
  readonly activeMs: number;
  /** CPU time. */
  readonly cpuMs: number;
}

/** Of the thread that asks. */
export function threadUse(): ThreadUse {
  const { user, system } = process.threadCpuUsage();
  return { activeMs: performance.eventLoopUtilization().active, cpuMs: (user + system) / 1_000 };
}

/** Below this there is too little to divide by, ms of CPU. */
const LEAST_CPU_MS = 5;

/**
 * How scarce the CPU is: how many times as long as its work this thread took since the last reading. 1 on a machine with
 * nothing else to do; 2 where it stands in line for a CPU as long as it has one.
 */
export class Contention {
  #last: ThreadUse;

  constructor(private readonly use: () => ThreadUse = threadUse) {
    this.#last = use();
  }

  /** 1 where the thread had next to nothing to do. */
  read(): number {
    const { activeMs, cpuMs } = this.use();
    const active = activeMs - this.#last.activeMs;
    const cpu = cpuMs - this.#last.cpuMs;
    if (cpu < LEAST_CPU_MS) return 1;
    this.#last = { activeMs, cpuMs };
    return Math.max(1, active / cpu);
  }
}

/** How often it is seen how scarce the CPU is. */
const LOOK_MS = 250;
/** Times the work of the thread: from here on an event waits for the CPU longer than it is worked on. */
const SCARCE = 1.7;
/** Below this there is CPU left. */
const ENOUGH = 1.3;
/** In one step at most; as a rule by as much as the CPU is too scarce. */
const LOWER_BY = 0.6;
const RAISE_BY = 1.05;
/** The flood keeps this much of what it got unrestrained, however scarce the CPU is: something else may be the cause. */
const LEAST_SHARE = 0.5;
/** Who sends more than this share of all events floods. */
const MOST = 0.5;

/** Who floods, and how much it may have begun. */
interface Flood {
  readonly tenantId: string;
  /** What it had begun before it was restrained, events per second. */
  unrestrained: number;
  perSecond: number;
  restsUntilMs: number;
}

/**
 * Most events per second of a tenant that floods while others are there and the CPU is scarce: what it has of the CPU, they
 * wait for at each step of their events' way. Alone it is its own neighbour and takes what there is.
 */
export class Restraint {
  readonly #rates = new TenantRates();
  #flood: Flood | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  /** @param told when a tenant begins or ceases to be restrained: events per second, or Infinity */
  constructor(
    private readonly told: (tenantId: string, perSecond: number) => void = () => undefined,
    private readonly contention: Pick<Contention, 'read'> = new Contention(),
  ) {}

  /** Most events of this tenant per second now; Infinity where it is not restrained. */
  perSecondOf(tenantId: string): number {
    return this.#flood?.tenantId === tenantId ? this.#flood.perSecond : Number.POSITIVE_INFINITY;
  }

  /** Somebody is. */
  get isActive(): boolean {
    return this.#flood !== undefined && Number.isFinite(this.#flood.perSecond);
  }

  /** Until when nothing more of this tenant is to begin. */
  restsUntil(tenantId: string): number {
    return this.#flood?.tenantId === tenantId ? this.#flood.restsUntilMs : Number.NEGATIVE_INFINITY;
  }

  /** So many events of a tenant were begun. */
  begun(tenantId: string, events: number, nowMs: number): void {
    this.#rates.add(tenantId, events);
    const flood = this.#flood;
    if (flood?.tenantId !== tenantId || flood.perSecond === Number.POSITIVE_INFINITY) return;
    flood.restsUntilMs = Math.max(nowMs, flood.restsUntilMs) + (events * 1_000) / flood.perSecond;
  }

  /** To be called whenever a request comes. Times are milliseconds that only go forward. */
  look(nowMs: number, othersAreThere: boolean): void {
    const sinceMs = nowMs - this.#lookedAtMs;
    if (sinceMs < LOOK_MS) return;
    this.#lookedAtMs = nowMs;
    const before = this.#flood;
    const wasRestrained = this.isActive;
    this.#rates.measure(sinceMs);
    this.#judge(this.contention.read(), othersAreThere);
    const { tenantId = before?.tenantId ?? '', perSecond = Number.POSITIVE_INFINITY } = this.#flood ?? {};
    if (wasRestrained !== this.isActive) this.told(tenantId, perSecond);
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

  /** Who sends most of all events, and how many per second. */
  #loudest(): readonly [string, number] | undefined {
    let all = 0;
    let loudest: readonly [string, number] = ['', 0];
    for (const [tenantId, rate] of this.#rates.perSecond) {
      all += rate;
      if (rate > loudest[1]) loudest = [tenantId, rate];
    }
    return loudest[1] > all * MOST ? loudest : undefined;
  }
}

function unrestrained(tenantId: string): Flood {
  const perSecond = Number.POSITIVE_INFINITY;
  return { tenantId, unrestrained: 0, perSecond, restsUntilMs: Number.NEGATIVE_INFINITY };
}

function adjust(flood: Flood, rate: number, contention: number): void {
  if (contention > SCARCE) {
    const lower = Math.min(flood.perSecond, rate) * Math.max(LOWER_BY, SCARCE / contention);
    flood.perSecond = Math.max(lower, flood.unrestrained * LEAST_SHARE);
  } else if (contention < ENOUGH) {
    flood.perSecond *= RAISE_BY;
    if (flood.perSecond > flood.unrestrained) flood.perSecond = Number.POSITIVE_INFINITY;
  }
}
