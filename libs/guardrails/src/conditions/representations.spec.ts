import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { DecisionAnswer } from '../decisions/answer.ts';
import { answerTo } from '../decisions/call.testing.ts';

/** One value in several representations, with the answers of rules about it. The SDKs replay the same file. */
interface NumberCase {
  /** Exact decimal text; null if none of the representations is a number. */
  readonly value: string | null;
  readonly as: readonly unknown[];
  readonly rules: readonly { readonly operator: string; readonly value: number; readonly answer: DecisionAnswer }[];
}

const VECTORS = join(import.meta.dirname, '../../../../python/vectors/numbers.json');
const cases = JSON.parse(readFileSync(VECTORS, 'utf8')) as readonly NumberCase[];

const CEL: Readonly<Record<string, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=', eq: '==', neq: '!=' };

/** Returns the arguments of one call in every form in which they may arrive. */
function formsOf(amount: unknown): readonly (readonly [config: object, args: unknown])[] {
  const inner = { path: 'amount' };
  const outer = { path: 'input.amount' };
  return [
    [inner, { amount }],
    [inner, JSON.stringify({ amount })],
    [outer, { input: { amount } }],
    [outer, { input: JSON.stringify({ amount }) }],
    [outer, JSON.stringify({ input: JSON.stringify({ amount }) })],
  ];
}

function answersOf(amount: unknown, operator: string, value: number): readonly DecisionAnswer[] {
  return formsOf(amount).map(([config, args]) =>
    answerTo('tool_argument', { ...config, type: 'number', operator, value }, { args }),
  );
}

describe('a rule about a number', () => {
  it.each(cases)('gives the same answer for every representation of $value', ({ as, rules }) => {
    for (const amount of as) {
      for (const { operator, value, answer } of rules) {
        expect([amount, operator, value, new Set(answersOf(amount, operator, value))]).toEqual([
          amount,
          operator,
          value,
          new Set([answer]),
        ]);
      }
    }
  });

  it.each(cases.filter(({ value }) => value !== null))(
    'gives the same answer as an expression for $value',
    ({ as, rules }) => {
      for (const amount of as) {
        for (const { operator, value, answer } of rules) {
          const expression = `args.amount ${CEL[operator]} ${value}`;
          for (const args of [{ amount }, JSON.stringify({ amount })]) {
            expect([amount, expression, answerTo('expression', { expression }, { args })]).toEqual([
              amount,
              expression,
              answer,
            ]);
          }
        }
      }
    },
  );

  it('gives the same answer for any number, as number, text, exponent and JSON', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    const operators = fc.constantFrom('gt', 'gte', 'lt', 'lte', 'eq', 'neq');
    fc.assert(
      fc.property(number, number, operators, (actual, limit, operator) => {
        const texts = [String(actual), actual.toExponential(), ` ${actual}`, JSON.stringify(actual)];
        const answers = [actual, ...texts].flatMap((amount) => answersOf(amount, operator, limit));
        expect(new Set(answers).size).toBe(1);
      }),
      { numRuns: 200 },
    );
  });

  it('compares all digits of a number if the arguments are sent as text', () => {
    const writtenArgs = '{"amount":9007199254740993,"note":"9007199254740993"}';
    const config = { path: 'amount', type: 'number', operator: 'gt', value: 9007199254740992 };
    const args = JSON.parse(writtenArgs) as object;
    expect(answerTo('tool_argument', config, { args, writtenArgs })).toBe(true);
    expect(answerTo('tool_argument', { path: 'note', value: '9007199254740993' }, { args, writtenArgs })).toBe(true);
  });
});
