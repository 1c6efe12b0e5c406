import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Holdings } from './holdings.ts';
import type { Occupant } from './places.ts';

const LIMITS = { total: 6, perDestination: 2, perTenant: 4 };
const to = (id: string, tenantId = 'acme'): Occupant => ({ tenantId, destination: { tenantId, id } });

describe('holdings', () => {
  it('let what was just recorded wait behind what waits in the table already', () => {
    const holdings = new Holdings(LIMITS);
    expect([holdings.reserve(to('a')), holdings.reserve(to('a')), holdings.reserve(to('a'))]).toEqual([
      true,
      true,
      false,
    ]);
    holdings.giveBack(to('a'));
    expect(holdings.reserve(to('a'))).toBe(false);
    expect(holdings.reserve(to('b'))).toBe(true);
    expect(holdings.wanting).toBe(true);

    holdings.claimed(holdings.ask(), []);
    expect(holdings.wanting).toBe(false);
    expect(holdings.reserve(to('a'))).toBe(true);
  });

  it('know that there is more, also where places came free while the claim was on its way', () => {
    const holdings = new Holdings(LIMITS);
    for (let n = 0; n < 2; n++) expect(holdings.reserve(to('a'))).toBe(true);
    expect(holdings.reserve(to('a'))).toBe(false);
    const asked = holdings.ask();
    for (let n = 0; n < 2; n++) holdings.giveBack(to('a'));
    holdings.claimed(asked, []);
    expect(holdings.wanting).toBe(true);
  });

  it('remember who began to wait while a claim was on its way that could not see it', () => {
    const holdings = new Holdings(LIMITS);
    const asked = holdings.ask();
    expect([holdings.reserve(to('c')), holdings.reserve(to('c')), holdings.reserve(to('c'))]).toEqual([
      true,
      true,
      false,
    ]);
    holdings.claimed(asked, []);
    holdings.claimed(holdings.ask(), []);
    holdings.giveBack(to('c'));
    expect(holdings.wanting).toBe(true);
  });

  const step = fc.oneof(
    fc.record({ do: fc.constant('record' as const), id: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ do: fc.constant('end' as const), which: fc.nat() }),
    fc.record({ do: fc.constant('ask' as const) }),
    fc.record({ do: fc.constant('answer' as const) }),
  );

  it('whatever comes and goes: nothing waits in the table that nobody will look for', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const holdings = new Holdings(LIMITS);
        const table: Occupant[] = [];
        const held: Occupant[] = [];
        let woken = false;
        let asked: { readonly of: ReturnType<Holdings['ask']>; readonly brings: Occupant[] } | undefined;
        const ask = () => {
          const of = holdings.ask();
          woken = false;
          const brings = chosen(table, of);
          for (const occupant of brings) table.splice(table.indexOf(occupant), 1);
          asked = { of, brings };
        };
        const answer = () => {
          if (asked === undefined) return;
          holdings.claimed(asked.of, asked.brings);
          held.push(...asked.brings);
          asked = undefined;
          if (holdings.wanting) woken = true;
        };
        for (const one of steps) {
          if (one.do === 'record') {
            const occupant = to(one.id, one.id === 'd' ? 'beta' : 'acme');
            if (holdings.reserve(occupant)) held.push(occupant);
            else {
              table.push(occupant);
              woken = true;
            }
          }
          if (one.do === 'end' && held.length > 0) {
            const [ended] = held.splice(one.which % held.length, 1);
            if (ended !== undefined) holdings.giveBack(ended);
            if (holdings.wanting) woken = true;
          }
          if (one.do === 'ask' && asked === undefined) ask();
          if (one.do === 'answer') answer();
        }
        answer();
        // From here on everything ends, and the table is looked at only when something says so.
        for (let n = 0; n < 1_000 && (held.length > 0 || woken); n++) {
          if (woken) {
            ask();
            answer();
          }
          const ended = held.shift();
          if (ended !== undefined) holdings.giveBack(ended);
          if (holdings.wanting) woken = true;
        }
        expect(table).toEqual([]);
      }),
    );
  });
});

/** What the claim statement picks: the oldest there is room for. */
function chosen(table: readonly Occupant[], { limit, room }: ReturnType<Holdings['ask']>): Occupant[] {
  const tenants = new Map(room.tenants.map(({ tenantId, count }) => [tenantId, count]));
  const destinations = new Map(room.destinations.map(({ destination, count }) => [destination.id, count]));
  const picked: Occupant[] = [];
  for (const occupant of table) {
    const id = occupant.destination?.id ?? '';
    const ofTenant = tenants.get(occupant.tenantId) ?? 0;
    const ofDestination = destinations.get(id) ?? 0;
    if (picked.length >= limit || ofTenant >= room.perTenant || ofDestination >= room.perDestination) continue;
    tenants.set(occupant.tenantId, ofTenant + 1);
    destinations.set(id, ofDestination + 1);
    picked.push(occupant);
  }
  return picked;
}
