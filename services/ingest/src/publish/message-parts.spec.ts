import type { AgentEvent } from '@agentlens/contracts';
import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { IdentifiedEvent } from '../intake/identity.ts';
import { messageIdOf, messageParts } from './messages.ts';

const sized = fc.record({ agent: fc.integer({ min: 0, max: 9 }), bytes: fc.integer({ min: 1, max: 990_000 }) });

function sizedEvent(fields: Partial<AgentEvent>, bytes: number): IdentifiedEvent {
  const event = anEvent(fields);
  return { event, json: JSON.stringify(event), bytes };
}

describe('parts of a request', () => {
  it('hold every event once, in order, in messages that fit', () => {
    fc.assert(
      fc.property(fc.array(sized, { maxLength: 60 }), (sizes) => {
        const events = sizes.map(({ agent, bytes }) => sizedEvent({ agentId: `agent-${agent}` }, bytes));
        const parts = messageParts('acme', events);
        expect(parts.flatMap((part) => part.events)).toEqual(events.map(({ event }) => event));
        for (const part of parts) {
          expect(part.bytes).toBeLessThanOrEqual(1_000_000);
          expect(part.events.length).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('are one message if they fit, regardless of the number of agents', () => {
    const events = Array.from({ length: 50 }, (_, n) => sizedEvent({ agentId: `agent-${n}` }, 100));
    expect(messageParts('acme', events)).toHaveLength(1);
  });
});

describe('a message id under a key', () => {
  const [part] = messageParts('acme', [sizedEvent({ hash: 'a' }, 1)]);
  const [other] = messageParts('acme', [sizedEvent({ hash: 'b' }, 1)]);
  if (part === undefined || other === undefined) throw new Error('one event makes one part');

  it('is the same for the same events', () => {
    expect(messageIdOf(part, 'k', 1)).toBe(messageIdOf({ ...part }, 'k', 1));
  });

  it('differs with the events, the key and the tenant', () => {
    const ids = [
      messageIdOf(part, 'k', 1),
      messageIdOf(other, 'k', 1),
      messageIdOf(part, 'l', 1),
      messageIdOf({ ...part, tenantId: 'globex' }, 'k', 1),
    ];
    expect(new Set(ids).size).toBe(4);
  });
});
