import { BusUnavailable } from '@agentlens/messaging';
import type { Caller, ProblemException } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { EventIngestor } from './event-ingestor.ts';
import { IngestMetrics } from './ingest-metrics.ts';

const caller = { keyId: 'k', tenantId: 'acme', eventsPerSecond: 1_000 } as Caller;
const reply = { headers: () => undefined };

/** Reasons to reject a request that is within its quota. */
const OBSTACLES = ['a full queue', 'a saturated bus', 'a throttled tenant'] as const;
type Obstacle = (typeof OBSTACLES)[number];

/** An ingestor with quota to spare. Records what its admission admitted and what was counted as shed. */
function ingestorWith(inTheWay: () => Obstacle | undefined) {
  const letIn: number[] = [];
  const metrics = new IngestMetrics();
  const shed = jest.spyOn(metrics, 'shed');
  const publisher = {
    get saturated() {
      return inTheWay() === 'a saturated bus';
    },
  };
  const quota = { take: async () => ({ allowed: true, limit: 1_000, remaining: 900, resetMs: 1_000 }) };
  const shares = {
    admit: (_tenantId: string, events: number) => {
      if (inTheWay() === 'a throttled tenant') return 500;
      letIn.push(events);
      return null;
    },
  };
  const turns = { isFull: () => inTheWay() === 'a full queue' };
  const ingestor = new EventIngestor({
    quota,
    turns,
    shares,
    publisher,
    metrics,
    clock: fixedClock('2026-03-01T12:00:00.000Z'),
  } as never);
  return { ingestor, letIn, shed: () => shed.mock.calls.map(([events]) => events) };
}

describe('the events reported to admission', () => {
  it('are those that were admitted', async () => {
    const { ingestor, letIn } = ingestorWith(() => undefined);
    await ingestor.admit(caller, 100, reply);
    expect(letIn).toEqual([100]);
  });

  it.each(OBSTACLES)(
    'exclude those rejected by %s; otherwise the pace would be learned from events that were not handled',
    async (obstacle) => {
      const { ingestor, letIn } = ingestorWith(() => obstacle);
      await expect(ingestor.admit(caller, 100, reply)).rejects.toThrow();
      expect(letIn).toEqual([]);
    },
  );
});

describe('the events counted as shed', () => {
  it('are those rejected because the platform is behind, each once', async () => {
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

describe('a request whose body is not read yet', () => {
  it('is rejected if the queue of its tenant is full, with an unknown number of events', () => {
    const { ingestor, shed } = ingestorWith(() => 'a full queue');
    expect(() => ingestor.refuseIfFull('acme')).toThrow('The platform is behind');
    expect(shed()).toEqual([0]);
  });

  it('is admitted otherwise', () => {
    expect(() => ingestorWith(() => undefined).ingestor.refuseIfFull('acme')).not.toThrow();
  });
});

const VERDICTS = [{ ok: true, repeated: false, event: { id: 'e', hash: 'h' }, json: '{}', bytes: 2 }];

/** An ingestor in which it is always the turn of every tenant. */
function ingestorOf(judge: () => Promise<object>, pass: () => Promise<void>) {
  const ended: string[] = [];
  const ingestor = new EventIngestor({
    intake: { judge },
    publisher: { pass },
    metrics: new IngestMetrics(),
    clock: fixedClock('2026-03-01T12:00:00.000Z'),
    turns: { begin: (tenantId: string) => () => ended.push(tenantId) },
  } as never);
  return { ingestor, ended };
}

describe('a request whose events are being published', () => {
  it('does not hold its events, and is answered when they are safe', async () => {
    const safe = Promise.withResolvers<void>();
    const onItsWay = Promise.withResolvers<void>();
    const { ingestor } = ingestorOf(
      async () => ({ kind: 'judged', arrival: {}, verdicts: VERDICTS }),
      () => {
        onItsWay.resolve();
        return safe.promise;
      },
    );
    const handover = { events: [{}] as readonly unknown[], key: undefined, partial: false };
    const taken = ingestor.take({ tenantId: 'acme' }, handover);
    await onItsWay.promise;
    expect(handover.events).toEqual([]);
    safe.resolve();
    expect(await taken).toEqual([{ ok: true, id: 'e', hash: 'h', notices: undefined }]);
  });
});

describe('the turn of a request', () => {
  const judged = async () => ({ kind: 'judged', arrival: {}, verdicts: VERDICTS });
  const take = (ingestor: EventIngestor) =>
    ingestor.take({ tenantId: 'acme' }, { events: [{}], key: undefined, partial: false });

  it('ends when its events are safe', async () => {
    const safe = Promise.withResolvers<void>();
    const onItsWay = Promise.withResolvers<void>();
    const { ingestor, ended } = ingestorOf(judged, () => {
      onItsWay.resolve();
      return safe.promise;
    });
    const taken = take(ingestor);
    await onItsWay.promise;
    expect(ended).toEqual([]);
    safe.resolve();
    await taken;
    expect(ended).toEqual(['acme']);
  });

  it.each([
    ['is rejected', async () => ({ kind: 'key_reused' }), async () => undefined, 'Idempotency-Key reused'],
    [
      'cannot be judged',
      () => Promise.reject(new StateUnavailable('judge', 'away')),
      async () => undefined,
      'cannot keep events',
    ],
    ['cannot be published', judged, () => Promise.reject(new BusUnavailable('away', 1_000)), 'cannot keep events'],
    ['fails unexpectedly', () => Promise.reject(new Error('a bug')), async () => undefined, 'a bug'],
  ])('ends when it %s', async (_how, judge, pass, message) => {
    const { ingestor, ended } = ingestorOf(judge, pass);
    await expect(take(ingestor)).rejects.toThrow(message);
    expect(ended).toEqual(['acme']);
  });
});
