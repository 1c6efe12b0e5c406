import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LONGEST_TEXT } from '../detectors/detectors.ts';
import { aDecisionRule, aRequest, NOW, someFacts } from './call.testing.ts';
import { decide } from './decide.ts';

const CARD = '4111 1111 1111 1111';
const text = { conditionType: 'tool_argument', conditionConfig: { operator: 'contains', value: 'rm -rf' } };
const card = { conditionType: 'sensitive_data', conditionConfig: { detectors: [{ detector: 'credit_card' }] } };
const left = { reason: 'unreadable', sha256: 'hash' } as const;

function ruling(rule: Partial<GuardrailRule>, request: Partial<DecisionRequest>) {
  return decide([aDecisionRule(rule)], aRequest(request), someFacts(), Date.parse(NOW));
}

describe('content that is not searched', () => {
  it.each<[string, Partial<GuardrailRule>, unknown]>([
    ['a string after 10,000 others', text, [...Array.from({ length: 10_000 }, () => 'x'), 'rm -rf']],
    ['a card number in a string that is too long', card, { q: `${' '.repeat(LONGEST_TEXT)}${CARD}` }],
  ])('is missing rather than absent: %s', (_, rule, args) => {
    expect(ruling({ ...rule, onMissing: 'block' }, { args })).toMatchObject({
      effect: 'block',
      bypasses: [{ why: 'missing', did: 'block' }],
    });
  });

  it.each<[string, Partial<GuardrailRule>, unknown]>([
    ['behind 100,000 numbers', text, [...Array.from({ length: 100_000 }, (__, n) => n), 'rm -rf']],
    ['after a list of 200,000 items', text, { list: Array.from({ length: 200_000 }, () => 0), q: 'rm -rf' }],
    ['at the very end of the longest string', card, { q: `${' '.repeat(LONGEST_TEXT - CARD.length)}${CARD}` }],
  ])('is searched to the end: %s', (_, rule, args) => {
    expect(ruling(rule, { args })).toMatchObject({ effect: 'block', bypasses: [] });
  });
});

describe('truncated arguments', () => {
  const part = { args: { q: 'fine' }, unread: { args: left } };

  it.each<[string, Partial<GuardrailRule>]>([
    ['texts', text],
    ['detectors', card],
    ['a path', { conditionType: 'tool_argument', conditionConfig: { path: 'other', value: 'x' } }],
    ['a path that exists', { conditionType: 'tool_argument', conditionConfig: { path: 'a', operator: 'exists' } }],
    [
      'a path that does not exist',
      { conditionType: 'tool_argument', conditionConfig: { path: 'a', operator: 'notExists' } },
    ],
    ['an expression', { conditionType: 'expression', conditionConfig: { expression: 'args.q == "bad"' } }],
    ['has()', { conditionType: 'expression', conditionConfig: { expression: 'has(args.other)' } }],
    [
      'not',
      { conditionType: 'not', conditionConfig: { condition: { type: 'tool_argument', config: text.conditionConfig } } },
    ],
  ])('are missing for %s', (_, rule) => {
    for (const onMissing of ['allow', 'block'] as const) {
      expect(ruling({ ...rule, onMissing }, part)).toMatchObject({
        effect: onMissing,
        bypasses: [{ why: 'missing', did: onMissing }],
      });
    }
  });

  it.each<[string, Partial<GuardrailRule>]>([
    ['texts', text],
    ['a path', { conditionType: 'tool_argument', conditionConfig: { path: 'q', operator: 'startsWith', value: 'rm' } }],
    ['a path that exists', { conditionType: 'tool_argument', conditionConfig: { path: 'q', operator: 'exists' } }],
  ])('match in the part that was sent, for %s', (_, rule) => {
    expect(ruling(rule, { ...part, args: { q: 'rm -rf /' } })).toMatchObject({ effect: 'block', bypasses: [] });
  });

  it('are never modified, because the rest would be lost', () => {
    for (const actionConfig of [{ set: { dryRun: true } }, { redact: ['email'] }, { remove: ['q'] }]) {
      const rule = { actionType: 'modify_arguments', actionConfig, onMissing: 'block' } as const;
      expect(ruling(rule, part)).toMatchObject({ effect: 'block', bypasses: [{ why: 'missing' }] });
    }
  });

  it('do not affect rules about the result, and vice versa', () => {
    const ofResult = { ...card, conditionConfig: { ...card.conditionConfig, in: 'result' } };
    expect(ruling(ofResult, { ...part, result: 'fine', phase: 'tool.after' }).bypasses).toEqual([]);
    const request = { args: {}, result: 'fine', unread: { result: left }, phase: 'tool.after' } as const;
    expect(ruling(text, request).bypasses).toEqual([]);
    expect(ruling(ofResult, request).bypasses).toMatchObject([{ why: 'missing' }]);
  });
});

const leaf = fc.constantFrom('rm -rf /', 'fine', CARD, '', 1, 2000, true, null);
const keys = fc.constantFrom('a', 'b', 'list', 'amount');
const { args: anyArgs } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie('value'), { maxLength: 3 }), tie('args')),
  args: fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
}));

interface Nested {
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
}
const simple = fc.constantFrom<Nested[]>(
  { type: 'tool_argument', config: text.conditionConfig },
  { type: 'tool_argument', config: { path: 'a', operator: 'exists' } },
  { type: 'tool_argument', config: { path: 'a.b', operator: 'notExists' } },
  { type: 'tool_argument', config: { path: 'amount', type: 'number', operator: 'gt', value: 1000 } },
  { type: 'tool_argument', config: { path: 'a', operator: 'neq', value: 'fine' } },
  { type: 'sensitive_data', config: card.conditionConfig },
  { type: 'sensitive_data', config: { path: 'list', operator: 'allOf', detectors: [{ detector: 'credit_card' }] } },
  { type: 'expression', config: { expression: 'has(args.a) && args.a != "fine"' } },
  { type: 'expression', config: { expression: '!has(args.b)' } },
  { type: 'repeated_call', config: { times: 1 } },
);
const { condition } = fc.letrec<{ condition: Nested }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    simple,
    tie('condition').map((inner) => ({ type: 'not', config: { condition: inner } })),
    fc
      .tuple(fc.constantFrom('all', 'any'), fc.array(tie('condition'), { minLength: 2, maxLength: 3 }))
      .map(([type, conditions]) => ({ type, config: { conditions } })),
  ),
}));

/** Drops parts of a value at random, as a gateway drops what it cannot forward. */
function partOf(value: unknown, leavesOut: () => boolean): unknown {
  if (leavesOut()) return null;
  if (Array.isArray(value)) {
    const end = value.findIndex(() => leavesOut());
    return value.slice(0, end < 0 ? value.length : end).map((item) => partOf(item, leavesOut));
  }
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(() => !leavesOut());
  return Object.fromEntries(kept.map(([key, member]) => [key, partOf(member, leavesOut)]));
}

describe('hiding', () => {
  it('never helps: a ruling on a part equals the ruling on the whole or is recorded as a bypass', () => {
    fc.assert(
      fc.property(
        condition,
        anyArgs,
        fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 20 }),
        fc.constantFrom('allow' as const, 'block' as const),
        ({ type, config }, args, chances, onMissing) => {
          let at = 0;
          const part = partOf(args, () => chances[at++ % chances.length] === 0);
          const rule = { conditionType: type, conditionConfig: config, onMissing, onUnavailable: onMissing };
          const whole = ruling(rule, { args });
          const hidden = ruling(rule, { args: part, unread: { args: left } });
          if (hidden.bypasses.length === 0) expect(hidden.effect).toBe(whole.effect);
          else if (onMissing === 'block') expect(hidden.effect).toBe('block');
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
