import { describe, expect, it } from '@jest/globals';
import { aDecisionRule, answerTo, aRequest, NOW, someFacts } from '../../decisions/call.testing.ts';
import { decide } from '../../decisions/decide.ts';
import { DecisionBook } from '../../decisions/decision-book.ts';
import { factsNeeded } from '../../decisions/facts-needed.ts';
import { dataFlow } from './data-flow.ts';

const config = {
  after: [{ tools: ['read_*'] }, { toolTagsAny: ['pii'] }],
  label: 'customer-data',
  clearedBy: [{ tools: ['redact'] }],
};
const source = { runId: 'run-0', agentId: 'crm', toolName: 'read_customer', callId: 'c1', atMs: Date.parse(NOW) };
const labels = new Map([['customer-data', source]]);
const rule = aDecisionRule({
  ...{ id: 'flow', conditionType: 'data_flow', conditionConfig: config, selector: { toolTagsAny: ['egress'] } },
});
const called = (name: string, tags: string[] = []) => ({ tool: { name, tags } });
const send = called('send', ['egress']);

describe('data_flow', () => {
  it('matches while the label stands', () => {
    expect(answerTo('data_flow', config, send, { labels: new Map() })).toBe(false);
    expect(answerTo('data_flow', config, send, { labels: new Map([['other', source]]) })).toBe(false);
    expect(answerTo('data_flow', config, send, { labels })).toBe(true);
  });

  it('is unavailable without the labels', () => {
    expect(answerTo('data_flow', config, send, { labels: 'unavailable' })).toBe('unavailable');
    expect(answerTo('data_flow', config, send)).toBe('unavailable');
  });

  it('sets the label for calls chosen by name or tag, in any case', () => {
    const sets = (name: string, tags?: string[]) =>
      factsNeeded([], aRequest(called(name, tags)), [rule]).labels?.sets.map(({ label }) => label);
    expect(sets('READ_customer')).toEqual(['customer-data']);
    expect(sets('query', ['PII'])).toEqual(['customer-data']);
    expect(sets('query')).toEqual([]);
  });

  it('clears the label when a clearing call has completed, not before', () => {
    const clears = (phase: 'tool.before' | 'tool.after') =>
      factsNeeded([], aRequest({ ...called('redact'), phase }), [rule]).labels?.clears;
    expect([clears('tool.before'), clears('tool.after')]).toEqual([[], ['customer-data']]);
  });

  it('names calls that read data, or whose approval may fail', () => {
    expect(dataFlow.config.safeParse({ label: 'x' }).error?.issues).toMatchObject([{ path: ['after'] }]);
    const failing = aDecisionRule({
      ...{ id: 'flow', conditionType: 'data_flow' },
      conditionConfig: { afterDenied: [{ tools: ['deploy'] }], label: 'failed' },
    });
    const { labels: needed } = factsNeeded([], aRequest(called('deploy')), [failing]);
    expect([needed?.sets, needed?.setsIfDenied.map(({ label }) => label)]).toEqual([[], ['failed']]);
  });

  it('reads the labels only for calls that the rule applies to', () => {
    expect(factsNeeded([rule], aRequest(send), [rule]).labels?.reads).toBe(true);
    expect(factsNeeded([], aRequest(called('search')), [rule]).labels?.reads).toBe(false);
  });

  it('counts the calls of every agent, even if the rule is about one', () => {
    const book = DecisionBook.EMPTY.withTenant('acme', [{ ...rule, agentId: 'mailer' }]);
    const { tool } = aRequest(called('read_x'));
    expect(book.counting({ tenantId: 'acme', agentId: 'crm', phase: 'tool.before', tool })).toHaveLength(1);
    expect(book.counting({ tenantId: 'globex', agentId: 'crm', phase: 'tool.before', tool })).toEqual([]);
  });

  describe('with evidence', () => {
    const graded = (grade: 'carried' | 'proven') => ({ ...config, grade });
    const other = { ...source, callId: 'c2' };
    const answer = (asked: 'carried' | 'proven', found: 'none' | 'carried' | 'proven', isComplete: boolean) => {
      const evidence = { grade: found, isComplete, field: 'email', source: other };
      return answerTo('data_flow', graded(asked), send, {
        labels: new Map([['customer-data', { ...source, evidence }]]),
      });
    };

    it.each([
      ['carried', 'proven', true, true],
      ['carried', 'carried', false, true],
      ['carried', 'none', true, false],
      ['carried', 'none', false, 'unavailable'],
      ['proven', 'proven', false, true],
      ['proven', 'carried', true, false],
      ['proven', 'carried', false, 'unavailable'],
    ] as const)('asked for %s, found %s, complete: %s -> %s', (asked, found, isComplete, expected) => {
      expect(answer(asked, found, isComplete)).toBe(expected);
    });

    it('compares calls that the rule applies to and fingerprints results of sources', () => {
      const strict = aDecisionRule({
        ...{ id: 'flow', conditionType: 'data_flow', conditionConfig: graded('proven') },
        selector: { toolTagsAny: ['egress'] },
      });
      const needed = (tool: object, rules = [strict]) => {
        const { compares, prints } = factsNeeded(rules, aRequest(tool), [strict]).labels ?? {};
        return { compares, prints };
      };
      expect(needed(send)).toEqual({ compares: ['customer-data'], prints: [] });
      expect(needed(called('read_x'), [])).toEqual({ compares: [], prints: ['customer-data'] });
      expect(factsNeeded([rule], aRequest(send), [rule]).labels).toMatchObject({ compares: [], prints: [] });
    });

    it('names the call and the field in the finding', () => {
      const strict = aDecisionRule({ id: 'flow', conditionType: 'data_flow', conditionConfig: graded('carried') });
      const evidence = { grade: 'proven' as const, isComplete: true, field: 'customers.0.email', source: other };
      const facts = someFacts({ labels: new Map([['customer-data', { ...source, evidence }]]) });
      expect(decide([strict], aRequest(send), facts, Date.parse(NOW)).findings).toMatchObject([
        { flow: { grade: 'proven', field: 'customers.0.email', source: { callId: 'c2' } } },
      ]);
    });
  });

  it('names the source call and the grade in the finding', () => {
    const { findings, message } = decide([rule], aRequest(send), someFacts({ labels }), Date.parse(NOW));
    expect(findings).toMatchObject([
      {
        flow: {
          ...{ label: 'customer-data', grade: 'possible' },
          source: { runId: 'run-0', agentId: 'crm', toolName: 'read_customer', callId: 'c1', at: NOW },
        },
      },
    ]);
    expect(message).not.toContain('customer');
  });

  it('works inside other conditions', () => {
    const nested = aDecisionRule({
      conditionType: 'all',
      conditionConfig: {
        conditions: [
          { type: 'tool_name', config: { value: 'send' } },
          { type: 'data_flow', config },
        ],
      },
    });
    expect(nested).toMatchObject({ counts: true, countsEveryAgent: true });
    expect(factsNeeded([nested], aRequest(called('read_x'))).labels).toMatchObject({ reads: true });
    expect(factsNeeded([nested], aRequest(called('read_x'))).labels?.sets).toHaveLength(1);
    const { findings } = decide([nested], aRequest(send), someFacts({ labels }), Date.parse(NOW));
    expect(findings).toMatchObject([{ violated: true, flow: { label: 'customer-data' } }]);
  });

  it.each([
    ['a label with control characters', { label: 'customer\u0000data' }, 'lower-case'],
    ['a label in capitals', { label: 'Customer' }, 'lower-case'],
    ['an empty label', { label: '' }, ''],
    ['no source', { after: [] }, 'must not be empty'],
    ['a source without tools and tags', { after: [{}] }, 'must name tools or tags'],
    ['an unknown grade', { grade: 'certain' }, 'possible'],
  ])('rejects %s', (_, fields, message) => {
    expect(() => answerTo('data_flow', { ...config, ...fields }, send)).toThrow(message);
  });
});
