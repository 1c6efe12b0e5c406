import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { displayNameFrom, findClaim, mapClaims, unmetRequirement } from './map-claims.ts';

describe('claims', () => {
  const mapping = [
    { claim: 'groups', is: '/finance', role: 'approver' as const },
    { claim: ['resource_access', 'agentlens', 'roles'], is: 'admin', role: 'admin' as const },
    { claim: 'https://example.com/groups', is: 'ops', team: 'ops', role: 'operator' as const },
  ];

  it('give the roles and teams of every matching line', () => {
    const claims = {
      groups: ['/finance', 'x'],
      resource_access: { agentlens: { roles: ['admin'] } },
      'https://example.com/groups': 'ops',
    };
    expect(mapClaims({ mapping }, claims)).toEqual({
      kind: 'mapped',
      grants: [{ role: 'approver' }, { role: 'admin' }, { role: 'operator', team: 'ops' }],
      teams: ['ops'],
    });
  });

  it.each([
    {},
    { groups: 'FINANCE' },
    { groups: { '/finance': true } },
    { groups: 7 },
    { groups: [['/finance']] },
    { groups: '/finance/eu' },
  ])('that do not equal a line exactly give nothing: %j', (claims) =>
    expect(mapClaims({ mapping }, claims)).toEqual({ kind: 'mapped', grants: [], teams: [] }),
  );

  it('that match no line give the default role, if there is one', () => {
    expect(mapClaims({ mapping, defaultRole: 'viewer' }, {})).toMatchObject({ grants: [{ role: 'viewer' }] });
    expect(mapClaims({ mapping, defaultRole: 'viewer' }, { groups: '/finance' })).toMatchObject({
      grants: [{ role: 'approver' }],
    });
  });

  it('that the provider left out are named', () => {
    const claims = { _claim_names: { groups: 'src1' } };
    expect(mapClaims({ mapping, defaultRole: 'viewer' }, claims)).toEqual({ kind: 'overage', claim: 'groups' });
    expect(mapClaims({ mapping }, { ...claims, groups: ['/finance'] })).toMatchObject({ kind: 'mapped' });
    expect(mapClaims({ mapping: [] }, claims)).toMatchObject({ kind: 'mapped' });
  });

  it('are found by own keys only', () => {
    fc.assert(
      fc.property(fc.constantFrom('toString', '__proto__', 'constructor', 'length'), (key) => {
        expect(findClaim({}, key)).toBeUndefined();
        expect(findClaim({ list: ['x'] }, ['list', key])).toBeUndefined();
      }),
    );
  });

  it('must meet every requirement', () => {
    const require = [{ claim: 'tid', in: ['t1', 't2'] }];
    expect(unmetRequirement(require, { tid: 't2' })).toBeUndefined();
    expect(unmetRequirement(require, { tid: 't3' })).toBe(require[0]);
    expect(unmetRequirement(require, {})).toBe(require[0]);
  });

  it('give a name without characters that reorder or hide text', () => {
    expect(displayNameFrom({ name: 'Ann\u202e Lee\n' }, 's')).toBe('Ann Lee');
    expect(displayNameFrom({ name: ' ', preferred_username: 'ann' }, 's')).toBe('ann');
    expect(displayNameFrom({ name: 7 }, 'subject')).toBe('subject');
  });
});
