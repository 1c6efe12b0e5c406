import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { activate, callAllowance, DecisionBook, decide, factsNeeded, type StepAllowance } from '@agentlens/guardrails';
import { aRule } from '@agentlens/testing';
import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { TenantSteps } from './rule-steps.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const names = (count: number) => Array.from({ length: count }, (_, at) => `name-${at}`);

/** Valid rules at maximum cost, all of which apply to every call. */
const DEAR = [
  ['expression', { expression: 'args.a.all(x, !(x in args.b))' }],
  ['expression', { expression: 'args.a.exists(x, x.y == 1)' }],
  ['tool_argument', { operator: 'regex', value: '[\\p{L}]{1,400}[0-9]' }],
  ['sensitive_data', { detectors: [{ detector: 'credit_card' }] }],
] as const;
/** Rules of the other tenant: cheap ones, and one that needs its own steps. */
const OWN = [
  ['tool_argument', { path: 'amount', type: 'number', operator: 'gt', value: 100 }],
  ['expression', { expression: 'args.items.exists(item, item.price > 5)' }],
  ['tool_argument', { operator: 'regex', value: '(?i)drop\\s+table' }],
] as const;

const dearArgs = fc.record({
  a: fc.integer({ min: 1_000, max: 20_000 }).map(names),
  b: fc.integer({ min: 1_000, max: 20_000 }).map(names),
  text: fc.constantFrom('é', '1234 5678 ', 'x').map((unit) => unit.repeat(200_000 / unit.length)),
});
const ownArgs = fc.record({
  amount: fc.integer({ min: 0, max: 200 }),
  items: fc.array(fc.record({ price: fc.integer({ min: 0, max: 10 }) }), { maxLength: 5 }),
  text: fc.constantFrom('drop table', 'a word '.repeat(5_000), ''),
});
const step = fc.oneof(
  fc.record({ tenantId: fc.constant('loud'), args: dearArgs }),
  fc.record({ tenantId: fc.constant('quiet'), args: ownArgs }),
);

describe('while one tenant asks the most expensive valid questions', () => {
  it('another tenant gets the same answers as when it is alone', () => {
    const book = DecisionBook.EMPTY.withTenant('loud', rulesOf('loud', DEAR)).withTenant(
      'quiet',
      rulesOf('quiet', OWN),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 4, maxLength: 10 }), (questions) => {
        const steps = new TenantSteps(() => NOW_MS);
        for (const question of questions) {
          const beside = answered(book, question, steps.ofCall(question.tenantId));
          if (question.tenantId !== 'quiet') continue;
          const alone = answered(book, question, callAllowance());
          if (beside !== alone) throw new Error(`${beside} beside the other, ${alone} alone`);
        }
      }),
      { numRuns: 20 },
    );
  });
});

function rulesOf(tenantId: string, conditions: readonly (readonly [string, object])[]) {
  return conditions.map(([conditionType, conditionConfig], at) => {
    const about = { conditionType, conditionConfig: conditionConfig as GuardrailRule['conditionConfig'] };
    const active = activate(
      aRule({ ...about, tenantId, id: `${tenantId}-${at}`, actionType: 'block', actionConfig: {} }),
    );
    if (!active.ok) throw new Error(active.reason);
    return active.value;
  });
}

function answered(
  book: DecisionBook,
  { tenantId, args }: { tenantId: string; args: object },
  steps: StepAllowance,
): string {
  const request: DecisionRequest = {
    ...{ tenantId, agentId: 'agent', runId: 'run', phase: 'tool.before', args, tags: {}, subjects: [], metrics: {} },
    tool: { name: 'search', tags: [] },
    receivedAt: new Date(NOW_MS).toISOString(),
    deadlineMs: 1_000,
  };
  const rules = book.matching(request);
  const facts = { needs: factsNeeded(rules, request), argsHash: 'h' };
  const { effect, bypasses } = decide(rules, request, facts, NOW_MS, steps);
  return JSON.stringify({ effect, bypasses });
}
