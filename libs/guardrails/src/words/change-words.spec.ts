import { describe, expect, it } from '@jest/globals';
import { changedName, changeWords, noticeWords } from './change-words.ts';

const RULE = {
  ...{ id: 'r', name: 'Invoices', version: 1, meaningVersion: 1, dryRun: false, mode: 'enforce', enabled: true },
  ...{ agentId: 'billing-bot', toolNames: ['create_invoice'], actionType: 'block', actionConfig: {} },
  ...{ conditionType: 'tool_argument', conditionConfig: { path: 'eur', type: 'number', operator: 'gt', value: 5_000 } },
};
const change = (kind: string, before: object | null, after: object | null) => ({
  ...{ kind, targetId: 'x' },
  before: before === null ? null : { ...before },
  after: after === null ? null : { ...after },
});

describe('the words of a change', () => {
  it('say how a rule differs, without its bookkeeping', () => {
    const after = {
      ...RULE,
      name: 'Bills',
      version: 2,
      meaningVersion: 2,
      conditionConfig: { ...RULE.conditionConfig, value: 5 },
    };
    expect(changeWords(change('rule.changed', RULE, after))).toEqual([
      'When: eur is more than 5,000 → eur is more than 5',
      'Name: Invoices → Bills',
    ]);
    expect(changeWords(change('rule.created', null, RULE))[0]).toContain(
      'enforce: Block calls of create_invoice when eur is more than 5,000',
    );
  });

  it('say what an order did, and nothing more of a decision', () => {
    expect(changeWords(change('order.given', null, { state: 'killed', by: 'Ada', scopeId: 'bot' }))).toEqual([
      'killed',
    ]);
    expect(changeWords(change('order.given', null, { state: 'running' }))).toEqual(['resumed']);
    expect(changeWords(change('alert.approved', { status: 'pending' }, { status: 'approved' }))).toEqual([]);
  });

  it('fall back to fields, also for a rule of an older form', () => {
    const budget = { id: 'b', name: 'Day', limitUsd: 3, version: 1, updatedAt: '1' };
    expect(
      changeWords(change('budget.changed', budget, { ...budget, limitUsd: 6, version: 2, updatedAt: '2' })),
    ).toEqual(['limitUsd: 3 → 6']);
    expect(changeWords(change('rule.changed', { name: 'old', limit: 1 }, { name: 'old', limit: 2 }))).toEqual([
      'limit: 1 → 2',
    ]);
  });

  it('name the call of an approval, and a deploy with its agent', () => {
    const approval = { agentId: 'support-bot', approval: { toolName: 'refund' }, status: 'approved' };
    expect(changedName(change('alert.approved', null, approval))).toBe('refund of support-bot');
    expect(changedName(change('deploy.recorded', null, { version: '3.1.0', agentId: 'bot' }))).toBe('3.1.0 of bot');
    expect(
      changeWords(change('deploy.recorded', null, { version: '3.1.0', agentId: 'bot', url: 'https://a.b' })),
    ).toEqual(['url: https://a.b']);
    expect(changedName(change('rule.deleted', RULE, null))).toBe('Invoices');
    expect(changedName(change('order.given', null, { state: 'killed' }))).toBeUndefined();
  });
});

describe('the words of a notice', () => {
  it('say what happened to whom', () => {
    expect(noticeWords({ event: 'control.order', status: 'killed', agentId: 'canary-bot' })).toBe('canary-bot: killed');
    expect(noticeWords({ event: 'breaker.changed', status: 'open', agentId: 'bot' })).toBe('bot: breaker opened');
    expect(noticeWords({ event: 'budget.reached', agentId: '' })).toBe('budget reached');
    expect(noticeWords({ event: 'thing.changed', status: 'new', agentId: 'bot' })).toBe('bot: thing.changed new');
  });
});
