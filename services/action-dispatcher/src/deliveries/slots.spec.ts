import { describe, expect, it } from '@jest/globals';
import { Slots } from './slots.ts';

const to = (id: string, tenantId = 'acme') => ({ tenantId, destination: { tenantId, id } });

describe('places', () => {
  it('gives one destination its share and no more', () => {
    const places = new Slots({ total: 10, perDestination: 2, perTenant: 10 });
    expect([places.take(to('a')), places.take(to('a')), places.take(to('a')), places.take(to('b'))]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(places.free).toBe(7);
  });

  it('gives one tenant its share and no more', () => {
    const places = new Slots({ total: 10, perDestination: 10, perTenant: 2 });
    expect([places.take(to('a')), places.take(to('b')), places.take(to('c')), places.take(to('a', 'beta'))]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it('takes back what is left', () => {
    const places = new Slots({ total: 1, perDestination: 1, perTenant: 1 });
    const local = { tenantId: 'acme', destination: null };
    for (const occupant of [to('a'), local, to('a')]) {
      expect(places.take(occupant)).toBe(true);
      expect(places.free).toBe(0);
      places.leave(occupant);
    }
    expect(places.taken).toEqual([]);
    expect(places.free).toBe(1);
  });

  it('lets a destination take several times its share while half of all places and of its tenant are free', () => {
    const stretch = ({ id }: { readonly id: string }) => (id === 'quick' ? 4 : 1);
    const taken = (limits: ConstructorParameters<typeof Slots>[0]) => {
      const places = new Slots(limits, stretch);
      let count = 0;
      while (places.take(to('quick'))) count += 1;
      return { count, places };
    };
    expect(taken({ total: 32, perDestination: 2, perTenant: 32 }).count).toBe(8);
    expect(taken({ total: 32, perDestination: 2, perTenant: 6 }).count).toBe(3);
    const { count, places } = taken({ total: 8, perDestination: 2, perTenant: 8 });
    expect(count).toBe(4);
    expect([places.take(to('a')), places.take(to('a')), places.take(to('a')), places.take(to('b'))]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it('says what is free of what is shared', () => {
    const places = new Slots({ total: 9, perDestination: 5, perTenant: 7 });
    for (const occupant of [to('a'), to('a'), to('b'), to('a', 'beta'), { tenantId: 'acme', destination: null }]) {
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
