import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Alignable, aligned } from '../src/run/align.ts';

const steps = (names: string): Alignable[] => names.split('').map((name) => ({ kind: 'tool', name }));
const shown = (a: string, b: string) =>
  aligned(steps(a), steps(b)).map((pair) => `${pair.a?.name ?? '-'}${pair.b?.name ?? '-'}`);
const names = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 });

/** Length of the longest common sequence, by trying everything. */
function longest(a: string, b: string): number {
  if (a === '' || b === '') return 0;
  if (a[0] === b[0]) return 1 + longest(a.slice(1), b.slice(1));
  return Math.max(longest(a.slice(1), b), longest(a, b.slice(1)));
}

void describe('the alignment of two runs', () => {
  void it('pairs the same tools in order and shows what only one run has', () => {
    assert.deepEqual(shown('abc', 'abc'), ['aa', 'bb', 'cc']);
    assert.deepEqual(shown('abc', 'ac'), ['aa', 'b-', 'cc']);
    assert.deepEqual(shown('ac', 'abbc'), ['aa', '-b', '-b', 'cc']);
    assert.deepEqual(shown('', 'a'), ['-a']);
  });

  void it('does not pair a tool with a model of the same name', () => {
    const pairs = aligned([{ kind: 'tool', name: 'x' }], [{ kind: 'model', name: 'x' }]);
    assert.deepEqual(pairs.length, 2);
  });

  void it('keeps every step once and in order, and pairs as many as possible', () => {
    fc.assert(
      fc.property(names, names, (a, b) => {
        const pairs = aligned(steps(a), steps(b));
        assert.equal(pairs.map((pair) => pair.a?.name ?? '').join(''), a);
        assert.equal(pairs.map((pair) => pair.b?.name ?? '').join(''), b);
        const both = pairs.filter((pair) => pair.a !== undefined && pair.b !== undefined);
        assert.ok(both.every((pair) => pair.a?.name === pair.b?.name));
        assert.equal(both.length, longest(a, b));
      }),
    );
  });

  void it('aligns runs that are too long for that, and finds their way back after a difference', () => {
    const long = Array.from({ length: 6_000 }, (_, n): Alignable => ({ kind: 'tool', name: `tool_${n % 50}` }));
    const changed = [{ kind: 'tool', name: 'first' }, ...long.toSpliced(3_000, 20), { kind: 'tool', name: 'last' }];
    const pairs = aligned(long, changed);
    assert.deepEqual(
      pairs.flatMap((pair) => pair.a ?? []),
      long,
    );
    assert.deepEqual(
      pairs.flatMap((pair) => pair.b ?? []),
      changed,
    );
    assert.equal(pairs.filter((pair) => pair.a !== undefined && pair.b !== undefined).length, 5_980);
  });
});
