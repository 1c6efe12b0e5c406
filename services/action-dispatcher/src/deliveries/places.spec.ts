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
    expect(places.full()).toEqual({ destinations: [{ tenantId: 'acme', id: 'a' }], tenants: [] });
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
    expect(places.full().tenants).toEqual(['acme']);
  });

  it('takes back what is left', () => {
    const places = new Places({ total: 1, perDestination: 1, perTenant: 1 });
    const local = { tenantId: 'acme', destination: null };
    for (const occupant of [to('a'), local, to('a')]) {
      expect(places.take(occupant)).toBe(true);
      expect(places.free).toBe(0);
      places.leave(occupant);
    }
    expect(places.full()).toEqual({ destinations: [], tenants: [] });
    expect(places.free).toBe(1);
  });
});
