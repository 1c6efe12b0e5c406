import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { Driver } from './driver.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Scenario } from './scenario.ts';
import { World } from './world.ts';

const REPORTS = new URL('../../../../reports/integrations/', import.meta.url);

export interface ScenarioReport {
  readonly name: string;
  readonly proves: readonly string[];
  readonly result: 'passed' | 'failed' | 'cannot';
  readonly reason?: string;
}

export interface DriverReport extends Pick<Driver, 'name' | 'package' | 'version' | 'badges'> {
  readonly scenarios: readonly ScenarioReport[];
}

async function play(driver: Driver, scenario: Scenario): Promise<void> {
  const world = new World(driver);
  try {
    await scenario.play(world);
  } finally {
    await world.close();
  }
}

/** Declares every scenario for one framework, and writes down what came of them. */
export function conform(driver: Driver): void {
  const report: ScenarioReport[] = [];

  const variant = driver.variant === undefined ? '' : `, ${driver.variant}`;
  void describe(`${driver.package} with ${driver.name} ${driver.version}${variant}`, () => {
    for (const scenario of SCENARIOS) {
      const { name, proves = [] } = scenario;
      const reason = driver.cannot[name];
      if (reason !== undefined) {
        report.push({ name, proves, result: 'cannot', reason });
        continue;
      }
      void it(name, async () => {
        try {
          await play(driver, scenario);
          report.push({ name, proves, result: 'passed' });
        } catch (error) {
          report.push({ name, proves, result: 'failed' });
          throw error;
        }
      });
    }

    void it('names only scenarios that exist when it says what the framework cannot do', () => {
      const known = new Set(SCENARIOS.map(({ name }) => name));
      assert.deepEqual(
        Object.keys(driver.cannot).filter((name) => !known.has(name)),
        [],
      );
    });

    after(() => {
      mkdirSync(REPORTS, { recursive: true });
      const { name, package: adapter, version, badges } = driver;
      const file = `${[adapter.replace('@agentlens/', '').replaceAll('/', '-'), driver.variant].filter(Boolean).join('.')}.json`;
      const whole: DriverReport = { name, package: adapter, version, badges, scenarios: report };
      writeFileSync(new URL(file, REPORTS), `${JSON.stringify(whole, null, 2)}\n`);
    });
  });

  void describe(`the kit, with ${driver.name}${variant} and a guard that does nothing`, () => {
    const unguarded: Driver = {
      ...driver,
      guard: (_lens, framework) => framework,
      run: (framework, agent) => driver.run(framework, agent),
    };
    for (const scenario of SCENARIOS.filter(({ needsGuard, name }) => needsGuard && !(name in driver.cannot)))
      void it(`fails: ${scenario.name}`, async () => {
        await assert.rejects(play(unguarded, scenario), { name: 'AssertionError' });
      });
  });
}
