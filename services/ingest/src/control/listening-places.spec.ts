import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ListeningPlaces } from './listening-places.ts';

const LIMITS = { total: 6, perTenant: 4, perKey: 3 };
const loud = { tenantId: 'loud', keyId: 'loud-1' };
const quiet = { tenantId: 'quiet', keyId: 'quiet-1' };

describe('ListeningPlaces', () => {
  it('divides places among the keys of a tenant, and takes them back', () => {
    const places = new ListeningPlaces(LIMITS);
    const leave = [1, 2, 3].map(() => places.take(loud, () => undefined));
    expect(() => places.take(loud, () => undefined)).toThrow('Too many streams');
    places.take({ ...loud, keyId: 'loud-2' }, () => undefined);
    expect(() => places.take({ ...loud, keyId: 'loud-3' }, () => undefined)).toThrow('Too many streams');
    leave[0]?.();
    leave[0]?.();
    places.take(loud, () => undefined);
    expect(() => places.take({ ...loud, keyId: 'loud-3' }, () => undefined)).toThrow('Too many streams');
  });

  it('takes places from the tenant with the most, oldest first, for a tenant with fewer', () => {
    const places = new ListeningPlaces(LIMITS);
    const gone: string[] = [];
    for (const at of [1, 2, 3]) places.take(loud, () => gone.push(`loud ${at}`));
    places.take({ ...loud, keyId: 'loud-2' }, () => gone.push('loud 4'));
    for (const at of [1, 2]) places.take(quiet, () => gone.push(`quiet ${at}`));
    places.take({ tenantId: 'third', keyId: 'third-1' }, () => gone.push('third'));
    expect(gone).toEqual(['loud 1']);
    expect(() => places.take(quiet, () => undefined)).toThrow('Too many streams');
    places.take({ tenantId: 'third', keyId: 'third-1' }, () => gone.push('third'));
    expect(gone).toEqual(['loud 1', 'loud 2']);
  });

  it('never exceeds the total, and never rejects a tenant without a place while another has two', () => {
    const tenant = fc.constantFrom('a', 'b', 'c', 'd');
    const move = fc.record({ tenantId: tenant, key: fc.constantFrom('1', '2'), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const places = new ListeningPlaces(LIMITS);
        const held = new Map<symbol, { readonly tenantId: string; readonly leave: () => void }>();
        const count = (tenantId: string) => [...held.values()].filter((one) => one.tenantId === tenantId).length;
        for (const { tenantId, key, leaves } of moves) {
          const mine = [...held].find(([, one]) => one.tenantId === tenantId);
          if (leaves && mine !== undefined) {
            mine[1].leave();
            held.delete(mine[0]);
            continue;
          }
          const name = Symbol(tenantId);
          try {
            const leave = places.take({ tenantId, keyId: `${tenantId}-${key}` }, () => held.delete(name));
            held.set(name, { tenantId, leave });
          } catch {
            const others = ['a', 'b', 'c', 'd'].map(count);
            expect(count(tenantId) > 0 || Math.max(...others) < 2).toBe(true);
          }
          expect(held.size).toBeLessThanOrEqual(LIMITS.total);
        }
      }),
    );
  });
});
