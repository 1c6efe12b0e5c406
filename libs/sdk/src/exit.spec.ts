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

  it('counts and logs at shutdown what an absent platform never received', async () => {
    const warnings: string[] = [];
    const server = new TestPlatform();
    server.fail('down');
    const lens = await server.client({ drainMs: 100, logger: { warn: (message) => void warnings.push(message) } });
    (await lens.startRun()).record('note', {});
    const { waiting } = lens.status.events;
    expect(waiting).toBeGreaterThan(0);
    const closing = lens.shutdown();
    await server.clock.advance(1_000);
    await closing;
    const { dropped, delivered, enqueued } = lens.status.events;
    expect(lens.status.events).toMatchObject({ waiting: 0, delivered: 0, dropped: enqueued });
    expect([dropped, delivered]).toEqual([enqueued, 0]);
    expect(warnings.join()).toContain(`${dropped} events were lost: they were not delivered within 100 ms`);
  });

  it('logs nothing after a shutdown', async () => {
    const { lens, warnings, ends } = await aClient();
    (await lens.startRun()).record('note', {});
    await lens.shutdown();
    expect(ends.size).toBe(0);
    expect(warnings.join()).not.toContain('lost');
  });
});
