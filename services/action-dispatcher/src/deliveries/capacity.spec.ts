import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LeaseBook, type Occupant, Slots } from './capacity.ts';

const occupantOf = (id: string, tenantId = 'acme') => ({ tenantId, destination: { tenantId, id } });

describe('slots', () => {
  it('gives one destination its share and no more', () => {
    const places = new Slots({ total: 10, perDestination: 2, perTenant: 10 });
    expect([
      places.take(occupantOf('a')),
      places.take(occupantOf('a')),
      places.take(occupantOf('a')),
      places.take(occupantOf('b')),
    ]).toEqual([true, true, false, true]);
    expect(places.free).toBe(7);
  });

  it('gives one tenant its share and no more', () => {
    const places = new Slots({ total: 10, perDestination: 10, perTenant: 2 });
    expect([
      places.take(occupantOf('a')),
      places.take(occupantOf('b')),
      places.take(occupantOf('c')),
      places.take(occupantOf('a', 'beta')),
    ]).toEqual([true, true, false, true]);
  });

  it('reuses slots that were returned', () => {
    const places = new Slots({ total: 1, perDestination: 1, perTenant: 1 });
    const local = { tenantId: 'acme', destination: null };
    for (const occupant of [occupantOf('a'), local, occupantOf('a')]) {
      expect(places.take(occupant)).toBe(true);
      expect(places.free).toBe(0);
      places.leave(occupant);
    }
    expect(places.taken).toEqual([]);
    expect(places.free).toBe(1);
  });

  it("lets a destination exceed its share while half of all slots and half of its tenant's are free", () => {
    const stretch = ({ id }: { readonly id: string }) => (id === 'quick' ? 4 : 1);
    const taken = (limits: ConstructorParameters<typeof Slots>[0]) => {
      const places = new Slots(limits, stretch);
      let count = 0;
      while (places.take(occupantOf('quick'))) count += 1;
      return { count, places };
    };
    expect(taken({ total: 32, perDestination: 2, perTenant: 32 }).count).toBe(8);
    expect(taken({ total: 32, perDestination: 2, perTenant: 6 }).count).toBe(3);
    const { count, places } = taken({ total: 8, perDestination: 2, perTenant: 8 });
    expect(count).toBe(4);
    expect([
      places.take(occupantOf('a')),
      places.take(occupantOf('a')),
      places.take(occupantOf('a')),
      places.take(occupantOf('b')),
    ]).toEqual([true, true, false, true]);
  });

  it('reports the free capacity of each share', () => {
    const places = new Slots({ total: 9, perDestination: 5, perTenant: 7 });
    for (const occupant of [
      occupantOf('a'),
      occupantOf('a'),
      occupantOf('b'),
      occupantOf('a', 'beta'),
      { tenantId: 'acme', destination: null },
    ]) {
      places.take(occupant);
    }
    expect(places.room(places.taken.map((share) => ({ share, free: places.freeOf(share) })))).toEqual({
      perDestination: 5,
      perTenant: 7,
      destinations: [
        { destination: { tenantId: 'acme', id: 'a' }, free: 3 },
        { destination: { tenantId: 'acme', id: 'b' }, free: 4 },
        { destination: { tenantId: 'beta', id: 'a' }, free: 4 },
      ],
      tenants: [
        { tenantId: 'acme', free: 3 },
        { tenantId: 'beta', free: 6 },
      ],
    });
  });
});

const LIMITS = { total: 6, perDestination: 2, perTenant: 4 };
const to = (id: string, tenantId = 'acme'): Occupant => ({ tenantId, destination: { tenantId, id } });

describe('lease book', () => {
  it('makes new deliveries wait behind those already in the table', () => {
    const leases = new LeaseBook(LIMITS);
    expect([leases.reserve(to('a')), leases.reserve(to('a')), leases.reserve(to('a'))]).toEqual([true, true, false]);
    leases.giveBack(to('a'));
    expect(leases.reserve(to('a'))).toBe(false);
    expect(leases.reserve(to('b'))).toBe(true);
    expect(leases.wanting).toBe(true);

    leases.claimed(leases.ask(), []);
    expect(leases.wanting).toBe(false);
    expect(leases.reserve(to('a'))).toBe(true);
  });

  it('expects more deliveries, even if leases ended during the claim', () => {
    const leases = new LeaseBook(LIMITS);
    for (let n = 0; n < 2; n++) expect(leases.reserve(to('a'))).toBe(true);
    expect(leases.reserve(to('a'))).toBe(false);
    const asked = leases.ask();
    for (let n = 0; n < 2; n++) leases.giveBack(to('a'));
    leases.claimed(asked, []);
    expect(leases.wanting).toBe(true);
  });

  it('remembers a delivery that started to wait during a claim that could not see it', () => {
    const leases = new LeaseBook(LIMITS);
    const asked = leases.ask();
    expect([leases.reserve(to('c')), leases.reserve(to('c')), leases.reserve(to('c'))]).toEqual([true, true, false]);
    leases.claimed(asked, []);
    leases.claimed(leases.ask(), []);
    leases.giveBack(to('c'));
    expect(leases.wanting).toBe(true);
  });

  it('claims again for a delivery that was rejected during a claim and waits for a full share', () => {
    const leases = new LeaseBook(LIMITS);
    for (let n = 0; n < 2; n++) leases.reserve(to('a'));
    expect(leases.reserve(to('a'))).toBe(false);
    for (let n = 0; n < 2; n++) leases.giveBack(to('a'));
    // The delivery that is rejected here is written only after the claim has run.
    const asked = leases.ask();
    expect(leases.reserve(to('a'))).toBe(false);
    leases.claimed(asked, []);
    for (let n = 0; n < 2; n++) expect(leases.reserve(to('a'))).toBe(true);
    leases.claimed(leases.ask(), []);
    leases.giveBack(to('a'));
    expect(leases.reserve(to('a'))).toBe(false);
    expect(leases.wanting).toBe(true);
  });

  it('claims enough rows at once that a long scan does not delay all deliveries', () => {
    const leases = new LeaseBook({ total: 1_000, perDestination: 1_000, perTenant: 1_000 });
    const asked = leases.ask();
    expect(asked.limit).toBe(128);
    expect(leases.claimed(asked, Array(128).fill(to('a')))).toBe(true);
    expect(leases.wanting).toBe(true);
  });

  const step = fc.oneof(
    fc.record({ do: fc.constant('record' as const), id: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ do: fc.constant('commit' as const) }),
    fc.record({ do: fc.constant('pace' as const), times: fc.constantFrom(1, 2, 4) }),
    fc.record({ do: fc.constant('end' as const), which: fc.nat() }),
    fc.record({ do: fc.constant('ask' as const) }),
    fc.record({ do: fc.constant('answer' as const) }),
  );

  it('leaves no delivery in the table unclaimed, in any sequence of steps', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        let times = 1;
        const leases = new LeaseBook(LIMITS, () => times);
        const written: Occupant[] = [];
        const table: Occupant[] = [];
        const held: Occupant[] = [];
        let woken = false;
        let asked: { readonly of: ReturnType<LeaseBook['ask']>; readonly brings: Occupant[] } | undefined;
        const ask = () => {
          const of = leases.ask();
          woken = false;
          const brings = chosen(table, of);
          for (const occupant of brings) table.splice(table.indexOf(occupant), 1);
          asked = { of, brings };
        };
        const commit = () => {
          woken ||= written.length > 0;
          table.push(...written.splice(0));
        };
        const answer = () => {
          if (asked === undefined) return;
          leases.claimed(asked.of, asked.brings);
          held.push(...asked.brings);
          asked = undefined;
          if (leases.wanting) woken = true;
        };
        for (const one of steps) {
          if (one.do === 'record') {
            const occupant = to(one.id, one.id === 'd' ? 'beta' : 'acme');
            if (leases.reserve(occupant)) held.push(occupant);
            else written.push(occupant);
          }
          if (one.do === 'commit') commit();
          if (one.do === 'pace') times = one.times;
          if (one.do === 'end' && held.length > 0) {
            const [ended] = held.splice(one.which % held.length, 1);
            if (ended !== undefined) leases.giveBack(ended);
            if (leases.wanting) woken = true;
          }
          if (one.do === 'ask' && asked === undefined) ask();
          if (one.do === 'answer') answer();
        }
        answer();
        commit();
        // From here on all leases end, and a claim runs only when the lease book asks for it.
        for (let n = 0; n < 1_000 && (held.length > 0 || woken); n++) {
          if (woken) {
            ask();
            answer();
          }
          const ended = held.shift();
          if (ended !== undefined) leases.giveBack(ended);
          if (leases.wanting) woken = true;
        }
        expect(table).toEqual([]);
      }),
    );
  });
});

/** What the claim statement returns: the oldest deliveries that have capacity. */
function chosen(table: readonly Occupant[], { limit, room }: ReturnType<LeaseBook['ask']>): Occupant[] {
  const tenants = new Map(room.tenants.map(({ tenantId, free }) => [tenantId, free]));
  const destinations = new Map(room.destinations.map(({ destination, free }) => [destination.id, free]));
  const picked: Occupant[] = [];
  for (const occupant of table) {
    const id = occupant.destination?.id ?? '';
    const ofTenant = tenants.get(occupant.tenantId) ?? room.perTenant;
    const ofDestination = destinations.get(id) ?? room.perDestination;
    if (picked.length >= limit || ofTenant <= 0 || ofDestination <= 0) continue;
    tenants.set(occupant.tenantId, ofTenant - 1);
    destinations.set(id, ofDestination - 1);
    picked.push(occupant);
  }
  return picked;
}
