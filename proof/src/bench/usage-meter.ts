import { familyBytes, familyMicros } from '../harness/process-family.ts';
import { usageOf } from '../harness/process-usage.ts';
import type { Stack } from '../harness/stack.ts';

const SAMPLE_EVERY_MS = 500;
/** Reading the shared memory of all backends is expensive: with each sample it would take 3 % of the machine. */
const FAMILY_EVERY = 6;

export interface MeteredUsage {
  /** CPU used between start and stop, by process. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** Peak between start and stop. */
  readonly rssBytes: Readonly<Record<string, number>>;
}

/** Measures the usage of the processes of one stack, with all backends of Postgres. */
export class UsageMeter {
  private readonly stack: Stack;
  private readonly before: Readonly<Record<string, number>>;
  private readonly peak: Record<string, number> = {};
  private readonly timer: NodeJS.Timeout;

  constructor(stack: Stack) {
    this.stack = stack;
    this.weigh(true);
    this.before = cpuMicrosOf(stack);
    let samples = 0;
    this.timer = setInterval(() => {
      samples += 1;
      this.weigh(samples % FAMILY_EVERY === 0);
    }, SAMPLE_EVERY_MS);
  }

  stop(): MeteredUsage {
    clearInterval(this.timer);
    const after = cpuMicrosOf(this.stack);
    this.weigh(true);
    const cpuMicros = Object.fromEntries(
      Object.entries(after).map(([name, micros]) => [name, micros - (this.before[name] ?? 0)]),
    );
    return { cpuMicros, rssBytes: { ...this.peak } };
  }

  private weigh(withFamily: boolean): void {
    for (const { name, pid, family } of processesOf(this.stack)) {
      if (family && !withFamily) continue;
      const bytes = family ? familyBytes(pid) : usageOf(pid).rssBytes;
      this.peak[name] = Math.max(this.peak[name] ?? 0, bytes);
    }
  }
}

function cpuMicrosOf(stack: Stack): Record<string, number> {
  return Object.fromEntries(
    processesOf(stack).map(({ name, pid, family }) => [name, family ? familyMicros(pid) : usageOf(pid).cpuMicros]),
  );
}

interface Watched {
  readonly name: string;
  readonly pid: number;
  readonly family: boolean;
}

function processesOf({ services, serverPids }: Stack): Watched[] {
  const running = services.filter((service) => service.running);
  return [
    ...running.map(({ name, pid }) => ({ name, pid, family: false })),
    ...Object.entries(serverPids).map(([name, pid]) => ({ name, pid, family: name === 'postgres' })),
  ];
}
