import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Driver } from './driver.ts';
import { conformOnPlatform, platformOf } from './platform.ts';
import { Report } from './report.ts';
import type { Scenario } from './scenario.ts';
import { APPROVALS } from './scenarios/approvals.ts';
import { BEHAVIOUR } from './scenarios/behaviour.ts';
import { DECISIONS } from './scenarios/decisions.ts';
import { LINEAGE } from './scenarios/lineage.ts';
import { OUTAGES } from './scenarios/outages.ts';
import { STOPPING } from './scenarios/stopping.ts';
import { World } from './world.ts';

const SCENARIOS: readonly Scenario[] = [...DECISIONS, ...BEHAVIOUR, ...LINEAGE, ...STOPPING, ...APPROVALS, ...OUTAGES];

async function play(driver: Driver, scenario: Scenario): Promise<void> {
  const world = new World(driver);
  try {
    await scenario.play(world);
  } finally {
    await world.close();
  }
}

/** Declares a test for every scenario with one framework, and writes a report of the results. */
export function conform(driver: Driver): void {
  const report = new Report(driver, SCENARIOS.length);

  const variant = driver.variant === undefined ? '' : `, ${driver.variant}`;
  void describe(`${driver.package} with ${driver.name} ${driver.version}${variant}`, () => {
    for (const scenario of SCENARIOS) {
      const { name, proves = [] } = scenario;
      const reason = driver.cannot[name];
      if (reason !== undefined) {
        report.cannot(name, proves, reason);
        continue;
      }
      void it(name, () => report.note(name, proves, () => play(driver, scenario)));
    }

    void it('lists only existing scenarios as unsupported', () => {
      const known = new Set(SCENARIOS.map(({ name }) => name));
      assert.deepEqual(
        Object.keys(driver.cannot).filter((name) => !known.has(name)),
        [],
      );
    });

    after(() => report.write());
  });

  void describe(`the kit with ${driver.name}${variant} and a guard that does nothing`, () => {
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

  const platform = platformOf(process.env);
  if (platform !== undefined && driver.variant === undefined) conformOnPlatform(driver, platform);
}
