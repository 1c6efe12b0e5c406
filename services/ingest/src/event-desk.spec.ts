import type { Caller } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { EventDesk } from './event-desk.ts';
import { IngestMetrics } from './ingest-metrics.ts';

const caller = { keyId: 'k', tenantId: 'acme', eventsPerSecond: 1_000 } as Caller;
const reply = { headers: () => undefined };

/** A desk with quota to spare, and how many events its admission let in. */
function deskWith({ full = false, saturated = false }: { readonly full?: boolean; readonly saturated?: boolean }) {
  const letIn: number[] = [];
  const parts = {
    gate: { saturated } as never,
    quota: { take: async () => ({ allowed: true, limit: 1_000, remaining: 900, resetMs: 1_000 }) } as never,
    admission: {
      admit: (_tenantId: string, events: number) => {
        letIn.push(events);
        return null;
      },
    } as never,
    turns: { isFull: () => full } as never,
  };
  const clock = fixedClock('2026-03-01T12:00:00.000Z');
  const desk = new EventDesk(
    {} as never,
    parts.gate,
    new IngestMetrics(),
    parts.quota,
    clock,
    parts.admission,
    parts.turns,
  );
  return { desk, letIn };
}

describe('what admission is told was let in', () => {
  it('is what came in', async () => {
    const { desk, letIn } = deskWith({});
    await desk.admit(caller, 100, reply);
    expect(letIn).toEqual([100]);
  });

  it.each([
    ['a line that is full', { full: true }],
    ['a bus that takes no more', { saturated: true }],
  ])(
    'is nothing of what %s refuses, or a pace would be learnt from events that nobody handled',
    async (_, refusing) => {
      const { desk, letIn } = deskWith(refusing);
      await expect(desk.admit(caller, 100, reply)).rejects.toThrow();
      expect(letIn).toEqual([]);
    },
  );
});

describe('a request that is still to be read', () => {
  it('is refused where its tenant has its line full, and nobody else', () => {
    const { desk } = deskWith({ full: true });
    expect(() => desk.refuseUnread('acme')).toThrow('The platform is behind');
    expect(() => deskWith({}).desk.refuseUnread('acme')).not.toThrow();
  });
});
