import { childrenOf } from '../harness/process-family.ts';
import { seededRandom } from '../harness/seeded-random.ts';
import type { ServiceProcess } from '../harness/service-process.ts';
import { type Check, withinMs } from './check.ts';
import { type Fault, type FaultFinding, type FindingEntry, type Lab, NotHere } from './fault.ts';
import { Site, type SiteOptions } from './site.ts';

const EVERY_MS = 1_000;
const WORK_MS = 15;

/**
 * Measures how much longer work takes here than on an idle machine: once a second 15 ms of work, from when it was due
 * until it was done. 1 on a quiet machine. Limits in milliseconds are multiplied by it.
 */
export class Slowness {
  private timer: NodeJS.Timeout | undefined;
  private workedMs = 0;
  private tookMs = 0;

  constructor() {
    this.lookLater();
  }

  get factor(): number {
    return this.workedMs === 0 ? 1 : Math.max(1, this.tookMs / this.workedMs);
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private lookLater(): void {
    const due = performance.now() + EVERY_MS;
    this.timer = setTimeout(() => {
      this.work(due);
      this.lookLater();
    }, EVERY_MS).unref();
  }

  private work(due: number): void {
    const cpuAtStart = process.cpuUsage();
    let workedMs = 0;
    while (workedMs < WORK_MS) {
      const { user, system } = process.cpuUsage(cpuAtStart);
      workedMs = (user + system) / 1_000;
    }
    this.workedMs += workedMs;
    this.tookMs += Math.max(workedMs, performance.now() - due);
  }
}

const MINUTE_MS = 60_000;
const DEADLINE_MS = 15 * MINUTE_MS;
/** Factor for limits in the short set, which runs with every change, on any machine and next to any load. */
const SMOKE_SLOWNESS = 4;

interface LaboratoryOptions {
  readonly root: string;
  readonly seed: number;
  readonly smoke: boolean;
  readonly minutes: number;
  /** Prints progress. */
  readonly progress: (text: string) => void;
  /** Called with the services of a failed fault test before they are stopped, to save their output. */
  readonly onFailed: (id: string, services: readonly ServiceProcess[]) => Promise<void>;
}

/** Runs fault tests one after the other. Tests that leave the platform healthy share it. */
export class Laboratory {
  private readonly options: LaboratoryOptions;
  private shared: Promise<Site> | undefined;
  /** Platforms of the running test. */
  private own: Site[] = [];

  constructor(options: LaboratoryOptions) {
    this.options = options;
  }

  async run(fault: Fault): Promise<FaultFinding> {
    const startedAt = new Date().toISOString();
    const since = performance.now();
    const seconds = () => (performance.now() - since) / 1_000;
    const timeline: FindingEntry[] = [];
    const checks: Check[] = [];
    const measures: Record<string, string> = {};
    const seed = seedOf(this.options.seed, fault.id);
    const random = seededRandom(seed);
    const slowness = new Slowness();
    const lab: Lab = {
      root: this.options.root,
      seed,
      random,
      smoke: this.options.smoke,
      minutes: this.options.minutes,
      site: () => this.site(),
      freshSite: async (options?: SiteOptions) => {
        // Two platforms at once would double the load and prove nothing more.
        await this.closeShared();
        const site = await Site.open(this.options.root, options);
        this.own.push(site);
        return site;
      },
      note: (text) => {
        timeline.push({ at: seconds(), text });
        this.options.progress(`  ${seconds().toFixed(1).padStart(6)} s  ${text}`);
      },
      check: (...more) => {
        checks.push(...more);
      },
      within: (name, limitMs, foundMs) => {
        const least = this.options.smoke ? SMOKE_SLOWNESS : 1;
        checks.push(withinMs(name, limitMs, foundMs, Math.max(least, slowness.factor)));
      },
      slowness: () => slowness.factor,
      measure: (name, value, unit) => {
        measures[name] = `${Number.isInteger(value) ? value : value.toFixed(1)} ${unit}`;
      },
      between: (from, to) => from + Math.floor(random() * (to - from + 1)),
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    };
    this.options.progress(`${fault.id} ${fault.title} (seed ${this.options.seed})`);
    let reason: string | undefined;
    let impossible = false;
    try {
      await withinDeadline(fault.run(lab), DEADLINE_MS + this.options.minutes * MINUTE_MS);
    } catch (error) {
      impossible = error instanceof NotHere;
      reason = impossible ? (error as Error).message : String(error instanceof Error ? error.stack : error);
    }
    lab.measure('slowness of the machine (1: quiet)', slowness.factor, 'x');
    slowness.close();
    const wrong = !impossible && (reason !== undefined || checks.some(({ ok }) => !ok));
    if (wrong) await this.options.onFailed(fault.id, await this.services());
    await this.closeOwn();
    if (wrong) await this.closeShared();
    if (this.shared === undefined) endChildren((text) => lab.note(text));
    const outcome = impossible ? 'not here' : wrong ? 'failed' : 'passed';
    const { id, title } = fault;
    const finding = { id, title, seed: this.options.seed, outcome, startedAt, seconds: seconds(), timeline } as const;
    return { ...finding, checks, measures, ...(reason === undefined ? {} : { reason }) };
  }

  /** Services of the platform that the last test used. */
  private async services(): Promise<readonly ServiceProcess[]> {
    const site = this.own.at(-1) ?? (await this.shared?.catch(() => undefined));
    return site?.stack.services ?? [];
  }

  /** Stops every platform, even during a test. */
  async close(): Promise<void> {
    await this.closeOwn();
    await this.closeShared();
    endChildren((text) => this.options.progress(text));
  }

  private async closeOwn(): Promise<void> {
    for (const site of this.own.splice(0)) await this.closed(site);
  }

  private async closeShared(): Promise<void> {
    const site = await this.shared?.catch(() => undefined);
    this.shared = undefined;
    if (site !== undefined) await this.closed(site);
  }

  /** A failed cleanup must not prevent the next test. */
  private async closed(site: Site): Promise<void> {
    await site.close().catch((error: unknown) => this.options.progress(`cleanup failed: ${String(error)}`));
  }

  private site(): Promise<Site> {
    this.shared ??= Site.open(this.options.root);
    return this.shared;
  }
}

/** A test that hangs fails alone. What it still does ends with its servers. */
async function withinDeadline(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${ms / MINUTE_MS} minutes`)), ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** No platform is running, so processes that still run were leaked. */
function endChildren(note: (text: string) => void): void {
  for (const pid of childrenOf(process.pid)) {
    note(`killed leaked process ${pid}`);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It exited in the meantime.
    }
  }
}

/** Each fault has its own random sequence, so that `--only` repeats what `--all` did. */
function seedOf(seed: number, id: string): number {
  let hash = seed >>> 0;
  for (const character of id) hash = (Math.imul(hash ^ character.charCodeAt(0), 0x01000193) + 1) >>> 0;
  return hash;
}
