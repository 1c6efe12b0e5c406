import { describe, expect, it } from '@jest/globals';
import { TestPlatform } from './testing/index.ts';

describe('a client whose process exits', () => {
  async function aClient() {
    const warnings: string[] = [];
    const ends = new Set<() => void>();
    const atExit = (run: () => void) => {
      ends.add(run);
      return () => void ends.delete(run);
    };
    const lens = await new TestPlatform().client({
      logger: { warn: (message) => void warnings.push(message) },
      runtime: { atExit },
    });
    const end = () => {
      for (const run of ends) run();
    };
    return { lens, warnings, ends, end };
  }

  it('logs how many events are lost and counts them as dropped', async () => {
    const { lens, warnings, end } = await aClient();
    const run = await lens.startRun();
    run.record('note', {});
    const { waiting } = lens.status.events;
    expect(waiting).toBeGreaterThan(0);
    end();
    expect(warnings.join()).toContain(`${waiting} events were lost because the process ended`);
    expect(lens.status.events).toMatchObject({ waiting: 0, dropped: waiting });
  });

  it('logs nothing after a shutdown', async () => {
    const { lens, warnings, ends } = await aClient();
    (await lens.startRun()).record('note', {});
    await lens.shutdown();
    expect(ends.size).toBe(0);
    expect(warnings.join()).not.toContain('lost');
  });
});
