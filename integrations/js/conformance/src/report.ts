import { mkdirSync, writeFileSync } from 'node:fs';
import type { Driver } from './driver.ts';

const FOLDER = new URL('../../../../reports/integrations/', import.meta.url);

export interface ScenarioReport {
  readonly name: string;
  readonly proves: readonly string[];
  readonly result: 'passed' | 'failed' | 'cannot';
  readonly reason?: string;
}

export type Subject = Pick<Driver, 'name' | 'package' | 'version' | 'variant' | 'badges'>;

export interface DriverReport extends Subject {
  readonly scenarios: readonly ScenarioReport[];
}

/** Results of one framework's scenarios, for the table in the documentation. */
export class Report {
  readonly #subject: Subject;
  readonly #expected: number;
  readonly #scenarios: ScenarioReport[] = [];

  constructor({ name, package: adapter, version, variant, badges }: Subject, expected: number) {
    this.#expected = expected;
    this.#subject = { name, package: adapter, version, variant, badges };
  }

  cannot(name: string, proves: readonly string[], reason: string): void {
    this.#scenarios.push({ name, proves, result: 'cannot', reason });
  }

  async note(name: string, proves: readonly string[], play: () => Promise<void>): Promise<void> {
    try {
      await play();
      this.#scenarios.push({ name, proves, result: 'passed' });
    } catch (error) {
      this.#scenarios.push({ name, proves, result: 'failed' });
      throw error;
    }
  }

  /** Writes nothing if only some of the scenarios ran. */
  write(): void {
    if (this.#scenarios.length < this.#expected) return;
    const { package: adapter, variant } = this.#subject;
    const file = [adapter.replace('@agentlens/', '').replaceAll('/', '-'), variant].filter(Boolean).join('.');
    const whole: DriverReport = { ...this.#subject, scenarios: this.#scenarios };
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(new URL(`${file}.json`, FOLDER), `${JSON.stringify(whole, null, 2)}\n`);
  }
}
