import { performance } from 'node:perf_hooks';

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
