import { COMMANDS, type EndedCall } from '@agentlens/contracts';
import { createMemoryBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EndedCalls } from './ended-calls.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const call = (callId: string): EndedCall => ({ runId: 'run', callId });

describe('calls that have ended', () => {
  let bus: ReturnType<typeof createMemoryBus>;
  let told: string[];
  let ended: EndedCalls;

  beforeEach(() => {
    bus = createMemoryBus();
    told = [];
    ended = new EndedCalls({ bus, logger, retryMs: 5 });
  });
  afterEach(async () => {
    await ended.stop();
    await bus.close();
  });

  const serve = () =>
    bus.serve(COMMANDS.spendApprovals, async ({ tenantId, calls }) => {
      told.push(...calls.map(({ callId }) => `${tenantId} ${callId}`));
      return { ok: true as const, value: { spent: calls.length } };
    });

  it('are told to the dispatcher at once', async () => {
    await serve();
    await ended.report('acme', [call('a'), call('b')], 1_000);
    expect(told).toEqual(['acme a', 'acme b']);
    await expect(ended.caughtUp('acme', 1_000)).resolves.toBeUndefined();
  });

  it('are kept while the dispatcher is away, and told when it is back', async () => {
    await ended.report('acme', [call('a')], 10);
    await ended.report('globex', [call('b')], 10);
    await serve();
    await eventually(async () => expect(told.toSorted()).toEqual(['acme a', 'globex b']));
  });

  it('are told before an approval of their tenant is asked for', async () => {
    const patient = new EndedCalls({ bus, logger, retryMs: 600_000 });
    await patient.report('acme', [call('a')], 10);
    await expect(patient.caughtUp('acme', 10)).rejects.toThrow('not marked as spent');
    await expect(patient.caughtUp('globex', 10)).resolves.toBeUndefined();
    await serve();
    await patient.caughtUp('acme', 1_000);
    expect(told).toEqual(['acme a']);
    await patient.stop();
  });

  it('keep an approval waiting while they are being told', async () => {
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

  it('are told once each, although others are still being told', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await bus.serve(COMMANDS.spendApprovals, async ({ calls }) => {
      told.push(...calls.flatMap(({ callId }) => callId ?? []));
      asked.resolve();
      await answer.promise;
      return { ok: true as const, value: { spent: calls.length } };
    });
    const first = ended.report('acme', [call('a')], 10_000);
    await asked.promise;
    const second = ended.report('acme', [call('b')], 10_000);
    await eventually(async () => expect(told).toContain('b'));
    answer.resolve();
    await Promise.all([first, second]);
    expect(told).toEqual(['a', 'b']);
  });

  it('are told in pieces, each once', async () => {
    await serve();
    const calls = Array.from({ length: 1_200 }, (_, at) => call(String(at)));
    await ended.report('acme', calls, 1_000);
    expect(told).toEqual(calls.map(({ callId }) => `acme ${callId}`));
  });

  it('are told once more when the service stops', async () => {
    const patient = new EndedCalls({ bus, logger, retryMs: 600_000 });
    await patient.report('acme', [call('a')], 10);
    await serve();
    await patient.stop();
    expect(told).toEqual(['acme a']);
  });
});
