import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { modifyArguments } from './modify-arguments.ts';

const change = (config: object, args: unknown) => modifyArguments.effect(modifyArguments.config.parse(config), args);

describe('modify_arguments', () => {
  it('sets and removes by path without changing the original', () => {
    const args = { to: 'x', options: { dryRun: false, list: [1, 2, 3] } };
    const before = structuredClone(args);
    expect(change({ set: { 'options.dryRun': true, 'options.list.1': 9, 'new.deep': 'y' } }, args)).toEqual({
      kind: 'modify',
      args: { to: 'x', options: { dryRun: true, list: [1, 9, 3] }, new: { deep: 'y' } },
    });
    expect(change({ remove: ['to', 'options.list.0', 'nothing.here'] }, args)).toEqual({
      kind: 'modify',
      args: { options: { dryRun: false, list: [2, 3] } },
    });
    expect(args).toEqual(before);
  });

  it('redacts every string', () => {
    expect(change({ redact: ['email'] }, { a: ['write to ada@b.example', 5], b: { c: 'clean' } })).toEqual({
      kind: 'modify',
      args: { a: ['write to [email]', 5], b: { c: 'clean' } },
    });
  });

  it('allows arguments that need no change', () => {
    expect(change({ set: { dryRun: true }, remove: ['x'], redact: ['email'] }, { dryRun: true })).toEqual({
      kind: 'allow',
    });
  });

  it('is missing if a path leads through something that is not an object', () => {
    expect(change({ set: { 'to.name': 'x' } }, { to: 'text' })).toEqual({ kind: 'missing' });
    expect(change({ set: { '5': 'x' } }, [1])).toEqual({ kind: 'missing' });
    expect(change({ set: { a: 1 } }, undefined)).toEqual({ kind: 'modify', args: { a: 1 } });
  });

  it('does not pollute prototypes', () => {
    const effect = change({ set: { '__proto__.polluted': true } }, {});
    expect(effect).toMatchObject({ kind: 'modify' });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(effect.kind === 'modify' ? effect.args : null)).toBe(Object.prototype);
  });

  it('is idempotent', () => {
    const config = { set: { 'a.b': 1, c: [2] }, remove: ['d', 'e.f'], redact: ['email'] };
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'c', 'd', 'e', 'x'), fc.jsonValue()), (args) => {
        const once = change(config, args);
        return once.kind === 'missing' || change(config, once.kind === 'modify' ? once.args : args).kind === 'allow';
      }),
    );
  });

  it.each([{}, { remove: [] }, { redact: ['nonsense'] }, { set: { 'a..b': 1 } }])('rejects %j', (config) => {
    expect(modifyArguments.config.safeParse(config).success).toBe(false);
  });
});
