import { DECISION_PHASES, type DecisionPhase, type GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { globMatches } from '../patterns/names.ts';
import { aDecisionRule, aRequest } from './call.testing.ts';
import { DecisionBook } from './decision-book.ts';
import { byPriority, type DecisionRule } from './decision-rule.ts';

const PHASES: DecisionPhase[] = [...DECISION_PHASES];
const some = (...values: string[]) => fc.option(fc.subarray(values, { minLength: 1 }), { nil: undefined });

const selector = fc.record({
  phases: fc.option(fc.subarray(PHASES, { minLength: 1 }), { nil: undefined }),
  tools: some('deploy', 'Deploy_*', '*_prod', '*', 'sea*ch', 'd*'),
  toolTagsAll: some('write', 'Admin'),
  toolTagsAny: some('write', 'read', 'ADMIN'),
});
const anyRule = fc
  .record({
    tenantId: fc.constantFrom('t1', 't2'),
    agentId: fc.option(fc.constantFrom('a1', 'a2'), { nil: undefined }),
    priority: fc.integer({ min: -2, max: 2 }),
    selector,
  })
  .map((fields) => ({
    rule: aDecisionRule({ ...fields, conditionType: 'subject', conditionConfig: { subjectType: 'x' } }),
    fields,
  }));

const question = fc.record({
  tenantId: fc.constantFrom('t1', 't2', 't3'),
  agentId: fc.constantFrom('a1', 'a2', 'a3'),
  phase: fc.constantFrom(...PHASES),
  tool: fc.option(
    fc.record({
      name: fc.constantFrom('deploy', 'DEPLOY_prod', 'search', 'x_prod', 'other'),
      tags: fc.subarray(['Write', 'read', 'admin']),
    }),
    { nil: undefined },
  ),
});

/** Reference implementation of a selector, evaluated on the rule as written. */
function selects({ selector: s = {} }: Partial<GuardrailRule>, { phase, tool }: ReturnType<typeof aRequest>): boolean {
  const tags = (tool?.tags ?? []).map((tag) => tag.toLowerCase());
  const has = (tag: string) => tags.includes(tag.toLowerCase());
  return (
    (s.phases ?? ['tool.before']).includes(phase) &&
    (s.tools === undefined || (tool !== undefined && s.tools.some((glob) => globMatches(glob, tool.name)))) &&
    (s.toolTagsAll === undefined || s.toolTagsAll.every(has)) &&
    (s.toolTagsAny === undefined || s.toolTagsAny.some(has))
  );
}

describe('DecisionBook', () => {
  it('finds what a linear scan finds, highest priority first', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 40 }), fc.array(question), (rules, questions) => {
        const byTenant = Map.groupBy(rules, ({ rule }) => rule.tenantId);
        const book = DecisionBook.EMPTY.withTenants(
          new Map([...byTenant].map(([tenantId, its]) => [tenantId, its.map(({ rule }) => rule)])),
        );
        expect(book.size).toBe(rules.length);
        for (const fields of questions) {
          const request = aRequest(fields);
          const scan = rules
            .filter(
              ({ rule, fields: written }) =>
                rule.tenantId === request.tenantId &&
                (rule.agentId === undefined || rule.agentId === request.agentId) &&
                selects(written, request),
            )
            .map(({ rule }) => rule)
            .sort(byPriority);
          expect(book.matching(request)).toEqual(scan);
        }
      }),
    );
  });

  it('does not inspect rules that cannot match, regardless of their number', () => {
    const looked: string[] = [];
    const watched = (rule: DecisionRule): DecisionRule => ({
      ...rule,
      get selects() {
        looked.push(rule.id);
        return rule.selects;
      },
    });
    const others = Array.from({ length: 500 }, (_, i) =>
      watched(aDecisionRule({ selector: { tools: [`tool_${i}`, `group_${i}_*`, `*_of_${i}`] } })),
    );
    const mine = watched(aDecisionRule({ selector: { tools: ['deploy*'] } }));
    const book = DecisionBook.EMPTY.withTenant('acme', [...others, mine]);
    looked.length = 0;
    expect(book.matching(aRequest({ tool: { name: 'deploy_prod', tags: [] } })).map(({ id }) => id)).toEqual([mine.id]);
    expect(looked).toEqual([mine.id]);
  });

  it('replaces one tenant without changing the original book', () => {
    const [one, two] = [aDecisionRule({ tenantId: 't1' }), aDecisionRule({ tenantId: 't2' })];
    const before = DecisionBook.EMPTY.withTenant('t1', [one]).withTenant('t2', [two]);
    const after = before.withTenant('t1', []);
    expect(before.matching(aRequest({ tenantId: 't1' }))).toEqual([one]);
    expect(after.matching(aRequest({ tenantId: 't1' }))).toEqual([]);
    expect(after.matching(aRequest({ tenantId: 't2' }))).toEqual([two]);
  });

  it('returns the rules of an agent that count a call, also if they do not apply to it', () => {
    const counts = {
      ...{ conditionType: 'max_calls', conditionConfig: { tools: ['search'], max: 1, appliesTo: 'every_call' } },
      selector: { tools: ['x'] },
    };
    const [mine, all] = [aDecisionRule({ ...counts, agentId: 'agent-1' }), aDecisionRule(counts)];
    const book = DecisionBook.EMPTY.withTenant('acme', [
      mine,
      all,
      aDecisionRule({ ...counts, agentId: 'other' }),
      aDecisionRule(),
    ]);
    expect(book.counting(aRequest())).toEqual([mine, all]);
    expect(book.matching(aRequest()).map(({ conditionType }) => conditionType)).toEqual(['tool_name']);
    expect(book.counting(aRequest({ tool: { name: 'other', tags: [] } }))).toEqual([]);
    expect(book.counting(aRequest({ phase: 'llm.after' }))).toEqual([]);
  });

  const inner = (type: string, config: object) => ({ condition: { type, config } });
  it.each([
    ['max_calls', { tools: ['send_*'], max: 1 }, ['send_email']],
    ['max_calls', { toolTagsAny: ['mail'], max: 1, per: 'agent', windowMinutes: 5 }, ['send_email']],
    ['max_calls', { max: 1 }, ['send_email', 'search', 'deploy']],
    ['sequence', { mustHaveCalled: [{ tools: ['search'] }] }, ['search']],
    ['sequence', { mustNotHaveCalled: [{ tools: ['SEARCH'] }, { toolTagsAll: ['mail'] }] }, ['send_email', 'search']],
    ['repeated_call', {}, ['deploy']],
    ['execution_time', { scope: 'total', ms: 1 }, ['send_email', 'search', 'deploy']],
    ['execution_time', { scope: 'tool', ms: 1 }, []],
    [
      'data_flow',
      { after: [{ tools: ['search'] }], label: 'web', clearedBy: [{ tools: ['deploy'] }] },
      ['search', 'deploy'],
    ],
    ['not', inner('max_calls', { tools: ['search'], max: 1 }), ['search']],
    ['tool_name', { value: 'search' }, []],
  ])('counts for %s with %o exactly the calls that it looks for', (conditionType, conditionConfig, counted) => {
    const rule = aDecisionRule({ conditionType, conditionConfig, selector: { tools: ['deploy'] } });
    const tools = [
      { name: 'send_email', tags: ['mail'] },
      { name: 'search', tags: [] },
      { name: 'deploy', tags: [] },
    ];
    expect(tools.filter((tool) => rule.countsCall({ tool })).map(({ name }) => name)).toEqual(counted);
    expect(rule.countsCall({ tool: undefined })).toBe(false);
  });

  it('counts the quantities that any call reports', () => {
    const conditionConfig = { metric: 'bytes_out', aggregate: 'sum', operator: 'gt', value: 1, scope: 'run' };
    const rule = aDecisionRule({ conditionType: 'metric_window', conditionConfig, selector: { tools: ['deploy'] } });
    expect([undefined, { name: 'search', tags: [] }].map((tool) => rule.countsCall({ tool }))).toEqual([true, true]);
  });

  it('uses toolNames if the selector names no tools', () => {
    const book = DecisionBook.EMPTY.withTenant('acme', [aDecisionRule({ toolNames: ['Deploy'] })]);
    expect(book.matching(aRequest())).toEqual([]);
    expect(book.matching(aRequest({ tool: { name: 'deploy', tags: [] } }))).toHaveLength(1);
  });
});
