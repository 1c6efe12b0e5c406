import type { Caller, ProblemException } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { EventIngestor } from './event-ingestor.ts';
import { IngestMetrics } from './ingest-metrics.ts';

const caller = { keyId: 'k', tenantId: 'acme', eventsPerSecond: 1_000 } as Caller;
const reply = { headers: () => undefined };

/** What may stand in the way of a request that is within its quota. */
const OBSTACLES = ['a line that is full', 'a bus that takes no more', 'a pace that is held'] as const;
type Obstacle = (typeof OBSTACLES)[number];

/** An ingestor with quota to spare: who its admission let in, and what was counted as shed. */
function ingestorWith(inTheWay: () => Obstacle | undefined) {
  const letIn: number[] = [];
  const metrics = new IngestMetrics();
  const shed = jest.spyOn(metrics, 'shed');
  const publisher = {
    get saturated() {
      return inTheWay() === 'a bus that takes no more';
    },
  };
  const quota = { take: async () => ({ allowed: true, limit: 1_000, remaining: 900, resetMs: 1_000 }) };
  const admission = {
    admit: (_tenantId: string, events: number) => {
      if (inTheWay() === 'a pace that is held') return 500;
      letIn.push(events);
      return null;
    },
  };
  const turns = { isFull: () => inTheWay() === 'a line that is full' };
  const ingestor = new EventIngestor({
    quota,
    turns,
    admission,
    publisher,
    metrics,
    clock: fixedClock('2026-03-01T12:00:00.000Z'),
  } as never);
  return { ingestor, letIn, shed: () => shed.mock.calls.map(([events]) => events) };
}

describe('what admission is told was let in', () => {
  it('is what came in', async () => {
    const { ingestor, letIn } = ingestorWith(() => undefined);
    await ingestor.admit(caller, 100, reply);
    expect(letIn).toEqual([100]);
  });

  it.each(OBSTACLES)(
    'is nothing of what %s refuses, or a pace would be learnt from events that nobody handled',
    async (obstacle) => {
      const { ingestor, letIn } = ingestorWith(() => obstacle);
      await expect(ingestor.admit(caller, 100, reply)).rejects.toThrow();
      expect(letIn).toEqual([]);
    },
  );
});

describe('what is counted as shed', () => {
  it('is what was refused because the platform is behind, each event once', async () => {
    const obstacle = fc.option(fc.constantFrom(...OBSTACLES), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.integer({ min: 1, max: 500 }), obstacle)), async (requests) => {
        let inTheWay: Obstacle | undefined;
        const { ingestor, shed } = ingestorWith(() => inTheWay);
        const behind: number[] = [];
        for (const [events, next] of requests) {
          inTheWay = next;
          const refusal = await ingestor.admit(caller, events, reply).then(
            () => undefined,
            (error: ProblemException) => error.getStatus(),
          );
          if (refusal === 429) behind.push(events);
        }
        expect(shed()).toEqual(behind);
      }),
    );
  });
});

describe('a request that is still to be read', () => {
  it('is refused where its tenant has its line full, its events unknown', () => {
    const { ingestor, shed } = ingestorWith(() => 'a line that is full');
    expect(() => ingestor.refuseIfFull('acme')).toThrow('The platform is behind');
    expect(shed()).toEqual([0]);
  });

  it('is let through otherwise', () => {
    expect(() => ingestorWith(() => undefined).ingestor.refuseIfFull('acme')).not.toThrow();
  });
});

describe('a request whose events are on their way', () => {
  it('holds none of them, and is answered when they are safe', async () => {
    const safe = Promise.withResolvers<void>();
    const onItsWay = Promise.withResolvers<void>();
    const verdicts = [{ ok: true, repeated: false, event: { id: 'e', hash: 'h' }, json: '{}', bytes: 2 }];
    const pass = () => {
      onItsWay.resolve();
      return safe.promise;
    };
    const ingestor = new EventIngestor({
      intake: { judge: async () => ({ kind: 'judged', arrival: {}, verdicts }) },
      publisher: { pass },
      metrics: new IngestMetrics(),
      clock: fixedClock('2026-03-01T12:00:00.000Z'),
      turns: { run: (_tenantId: string, _events: number, work: () => unknown) => work() },
    } as never);
    const handover = { events: [{}] as readonly unknown[], key: undefined, partial: false };
    const taken = ingestor.take({ tenantId: 'acme' }, handover);
    await onItsWay.promise;
    expect(handover.events).toEqual([]);
    safe.resolve();
    expect(await taken).toEqual([{ ok: true, id: 'e', hash: 'h', notices: undefined }]);
  });
});
