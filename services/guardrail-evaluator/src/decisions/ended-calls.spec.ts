import { COMMANDS, type EndedCall } from '@agentlens/contracts';
import { createMemoryBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import { EndedCalls } from './ended-calls.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const call = (callId: string): EndedCall => ({ runId: 'run', callId });

describe('EndedCalls', () => {
  let bus: ReturnType<typeof createMemoryBus>;
  let reported: string[];
  let ended: EndedCalls;
  let dropped: number;

  beforeEach(() => {
    bus = createMemoryBus();
    reported = [];
    dropped = 0;
    ended = new EndedCalls({ bus, logger, drops: { dropped: (_, count) => (dropped += count) }, retryMs: 5 });
  });
  afterEach(async () => {
    await ended.stop();
    await bus.close();
  });

  const serve = () =>
    bus.serve(COMMANDS.spendApprovals, async ({ tenantId, calls }) => {
      reported.push(...calls.map(({ callId }) => `${tenantId} ${callId}`));
      return { ok: true as const, value: { spent: calls.length } };
    });

  it('reports ended calls to the dispatcher at once', async () => {
    await serve();
    await ended.report('acme', [call('a'), call('b')], 1_000);
    expect(reported).toEqual(['acme a', 'acme b']);
    await expect(ended.caughtUp('acme', 1_000)).resolves.toBeUndefined();
  });

  it('keeps calls while the dispatcher is unavailable and reports them when it is back', async () => {
    await ended.report('acme', [call('a')], 10);
    await ended.report('globex', [call('b')], 10);
    await serve();
    await eventually(async () => expect(reported.toSorted()).toEqual(['acme a', 'globex b']));
  });

  it('reports calls before requesting an approval for their tenant', async () => {
    const patient = new EndedCalls({ bus, logger, drops: new EvaluatorDropMetrics(), retryMs: 600_000 });
    await patient.report('acme', [call('a')], 10);
    await expect(patient.caughtUp('acme', 10)).rejects.toThrow('not marked as spent');
    await expect(patient.caughtUp('globex', 10)).resolves.toBeUndefined();
    await serve();
    await patient.caughtUp('acme', 1_000);
    expect(reported).toEqual(['acme a']);
    await patient.stop();
  });

  it('delays an approval until the calls are reported', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await bus.serve(COMMANDS.spendApprovals, async ({ calls }) => {
      asked.resolve();
      await answer.promise;
      return { ok: true as const, value: { spent: calls.length } };
    });
    const reporting = ended.report('acme', [call('a')], 10_000);
    await asked.promise;
    let isCaughtUp = false;
    const waiting = ended.caughtUp('acme', 10_000).then(() => {
      isCaughtUp = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isCaughtUp).toBe(false);
    answer.resolve();
    await Promise.all([reporting, waiting]);
  });

  it('reports each call once, even if other reports are in progress', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await bus.serve(COMMANDS.spendApprovals, async ({ calls }) => {
      reported.push(...calls.flatMap(({ callId }) => callId ?? []));
      asked.resolve();
      await answer.promise;
      return { ok: true as const, value: { spent: calls.length } };
    });
    const first = ended.report('acme', [call('a')], 10_000);
    await asked.promise;
    const second = ended.report('acme', [call('b')], 10_000);
    await eventually(async () => expect(reported).toContain('b'));
    answer.resolve();
    await Promise.all([first, second]);
    expect(reported).toEqual(['a', 'b']);
  });

  it('reports in pages, each once', async () => {
    await serve();
    const calls = Array.from({ length: 1_200 }, (_, at) => call(String(at)));
    await ended.report('acme', calls, 1_000);
    expect(reported).toEqual(calls.map(({ callId }) => `acme ${callId}`));
  });

  it.each([
    ['the command is not valid', undefined],
    ['the database cannot store it', 400],
  ])('drops and counts a call that is refused because %s, and reports the others', async (_, status) => {
    await bus.serve(COMMANDS.spendApprovals, async ({ tenantId, calls }) => {
      if (status !== undefined && calls.some(({ callId }) => callId === 'bad')) {
        return { ok: false as const, problem: { error: 'refused', status } };
      }
      reported.push(...calls.map(({ callId }) => `${tenantId} ${callId}`));
      return { ok: true as const, value: { spent: calls.length } };
    });
    const bad = call(status === undefined ? 'c\u001b' : 'bad');
    await ended.report('acme', [call('a'), bad, call('b'), call('c')], 1_000);
    expect(reported).toEqual(['acme a', 'acme b', 'acme c']);
    expect(dropped).toBe(1);
    await expect(ended.caughtUp('acme', 1_000)).resolves.toBeUndefined();
  });

  it('retries once when the service stops', async () => {
    const patient = new EndedCalls({ bus, logger, drops: new EvaluatorDropMetrics(), retryMs: 600_000 });
    await patient.report('acme', [call('a')], 10);
    await serve();
    await patient.stop();
    expect(reported).toEqual(['acme a']);
  });
});
