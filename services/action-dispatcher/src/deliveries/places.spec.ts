import { describe, expect, it } from '@jest/globals';
import { Places } from './places.ts';

const to = (id: string, tenantId = 'acme') => ({ tenantId, destination: { tenantId, id } });

describe('places', () => {
  it('gives one destination its share and no more', () => {
    const places = new Places({ total: 10, perDestination: 2, perTenant: 10 });
    expect([places.take(to('a')), places.take(to('a')), places.take(to('a')), places.take(to('b'))]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(places.free).toBe(7);
  });

  it('gives one tenant its share and no more', () => {
    const places = new Places({ total: 10, perDestination: 10, perTenant: 2 });
    expect([places.take(to('a')), places.take(to('b')), places.take(to('c')), places.take(to('a', 'beta'))]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it('takes back what is left', () => {
    const places = new Places({ total: 1, perDestination: 1, perTenant: 1 });
    const local = { tenantId: 'acme', destination: null };
    for (const occupant of [to('a'), local, to('a')]) {
      expect(places.take(occupant)).toBe(true);
      expect(places.free).toBe(0);
      places.leave(occupant);
    }
    expect(places.room()).toMatchObject({ destinations: [], tenants: [] });
    expect(places.free).toBe(1);
  });

  it('says who holds how much', () => {
    const places = new Places({ total: 9, perDestination: 5, perTenant: 7 });
    for (const occupant of [to('a'), to('a'), to('b'), to('a', 'beta'), { tenantId: 'acme', destination: null }]) {
      places.take(occupant);
    }
    expect(places.room()).toEqual({
      perDestination: 5,
      perTenant: 7,
      destinations: [
        { destination: { tenantId: 'acme', id: 'a' }, count: 2 },
        { destination: { tenantId: 'acme', id: 'b' }, count: 1 },
        { destination: { tenantId: 'beta', id: 'a' }, count: 1 },
      ],
      tenants: [
        { tenantId: 'acme', count: 4 },
        { tenantId: 'beta', count: 1 },
      ],
    });
  });
});
