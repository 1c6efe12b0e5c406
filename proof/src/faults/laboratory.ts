import { seededRandom } from '../harness/seeded-random.ts';
import type { Check } from './check.ts';
import { type Fault, type Lab, NotHere } from './fault.ts';
import type { Finding, TimelineEntry } from './finding.ts';
import { Site, type SiteOptions } from './site.ts';

export interface LaboratoryOptions {
  readonly root: string;
  readonly seed: number;
  readonly smoke: boolean;
  readonly minutes: number;
  /** Tells whoever watches. */
  readonly progress: (text: string) => void;
}

/** Runs faults one after the other; those that leave the platform well share it. */
export class Laboratory {
  private readonly options: LaboratoryOptions;
  private shared: Promise<Site> | undefined;

  constructor(options: LaboratoryOptions) {
    this.options = options;
  }

  async run(fault: Fault): Promise<Finding> {
    const startedAt = new Date().toISOString();
    const since = performance.now();
    const seconds = () => (performance.now() - since) / 1_000;
    const timeline: TimelineEntry[] = [];
    const checks: Check[] = [];
    const measures: Record<string, string> = {};
    const own: Site[] = [];
    const seed = seedOf(this.options.seed, fault.id);
    const random = seededRandom(seed);
    const lab: Lab = {
      root: this.options.root,
      seed,
      random,
      smoke: this.options.smoke,
      minutes: this.options.minutes,
      site: () => this.site(),
      freshSite: async (options?: SiteOptions) => {
        // Two platforms at once would be twice the work for the machine, and prove nothing more.
        await this.close();
        const site = await Site.open(this.options.root, options);
        own.push(site);
        return site;
      },
      note: (text) => {
        timeline.push({ at: seconds(), text });
        this.options.progress(`  ${seconds().toFixed(1).padStart(6)} s  ${text}`);
      },
      check: (...more) => {
        checks.push(...more);
      },
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
      await fault.run(lab);
    } catch (error) {
      impossible = error instanceof NotHere;
      reason = impossible ? (error as Error).message : String(error instanceof Error ? error.stack : error);
    }
    for (const site of own) await site.close();
    const wrong = reason !== undefined || checks.some(({ ok }) => !ok);
    if (wrong && !impossible) await this.close();
    const outcome = impossible ? 'not here' : wrong ? 'failed' : 'passed';
    const { id, title } = fault;
    const finding = { id, title, seed: this.options.seed, outcome, startedAt, seconds: seconds(), timeline } as const;
    return { ...finding, checks, measures, ...(reason === undefined ? {} : { reason }) };
  }

  async close(): Promise<void> {
    const site = await this.shared?.catch(() => undefined);
    this.shared = undefined;
    await site?.close();
  }

  private site(): Promise<Site> {
    this.shared ??= Site.open(this.options.root);
    return this.shared;
  }
}

/** Each fault draws from a sequence of its own, so that `--only` replays what `--all` did. */
function seedOf(seed: number, id: string): number {
  let hash = seed >>> 0;
  for (const character of id) hash = (Math.imul(hash ^ character.charCodeAt(0), 0x01000193) + 1) >>> 0;
  return hash;
}
