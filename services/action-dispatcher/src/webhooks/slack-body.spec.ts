import type { Alert, ControlOrder } from '@agentlens/contracts';
import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { slackBody } from './slack-body.ts';
import { linkTo } from './webhook-config.ts';
import {
  noticeOfAlert,
  noticeOfBreaker,
  noticeOfOrder,
  noticeOfTrigger,
  type WebhookNotice,
} from './webhook-notice.ts';

const AT = '2026-03-01T12:00:00.000Z';
const PUBLIC_URL = 'https://lens.example.com/console/';

const approval: Alert = {
  ...{ id: 'alert/1', tenantId: 'acme', kind: 'approval', status: 'pending', severity: 'warn', version: 1 },
  ...{ title: 'May it pay?', message: 'pay wants to run', agentId: 'bot', runId: 'run-1', createdAt: AT },
  expiresAt: '2026-03-01T12:15:00.000Z',
};
const order: ControlOrder = {
  ...{ id: 'o', tenantId: 'acme', scope: 'tenant', scopeId: 'acme', state: 'killed', reason: 'enough', by: 'ann' },
  ...{ version: 1, issuedAt: AT },
};

function posted({ message }: WebhookNotice, publicUrl: string | undefined = PUBLIC_URL): string {
  return JSON.stringify(slackBody(message, linkTo(message, publicUrl)));
}

describe('the body of a Slack webhook', () => {
  it('has text for the notification, blocks to read, and a button to decide', () => {
    const { message } = noticeOfAlert(approval, AT);
    expect(slackBody(message, linkTo(message, PUBLIC_URL))).toEqual({
      text: 'Approval needed: May it pay?',
      blocks: [
        { type: 'section', text: { type: 'mrkdwn', text: '*Approval needed: May it pay?*\npay wants to run' } },
        {
          type: 'context',
          elements: [{ type: 'mrkdwn', text: 'agent bot · run run-1 · until 2026-03-01T12:15:00.000Z' }],
        },
        {
          type: 'actions',
          elements: [
            {
              type: 'button',
              text: { type: 'plain_text', text: 'Decide' },
              url: 'https://lens.example.com/console/approvals?id=alert%2F1',
            },
          ],
        },
      ],
    });
  });

  it('has no button if the public URL is not configured', () => {
    const { message } = noticeOfAlert(approval, AT);
    expect(linkTo(message, undefined)).toBeUndefined();
    expect(JSON.stringify(slackBody(message, undefined))).not.toContain('button');
  });

  it('shows who decided', () => {
    const approved = { ...approval, status: 'approved' as const, decidedBy: 'ann', decidedAt: AT };
    expect(posted(noticeOfAlert(approved, AT))).toContain('Approval approved by ann: May it pay?');
  });

  it('mentions no Slack user for any text of an agent, and stays below the size limit of Slack', () => {
    const body = posted(noticeOfAlert({ ...approval, title: '<!channel> & co', message: '<@U1>'.repeat(2_000) }, AT));
    expect(body).not.toMatch(/<[!@]/);
    expect(body).toContain('&lt;!channel&gt; &amp; co');
    for (const { text } of JSON.parse(body).blocks) expect(text?.text.length ?? 0).toBeLessThanOrEqual(3_000);
  });

  it.each([
    [
      'a trigger',
      noticeOfTrigger(aTrigger({ ruleId: 'r 1', ruleName: 'Too many errors' })),
      'Too many errors',
      '/guardrails/r%201',
    ],
    ['an order', noticeOfOrder(order), 'Every agent was killed by ann', '/'],
    [
      'an order for an agent',
      noticeOfOrder({ ...order, scope: 'agent', scopeId: 'bot' }),
      'The agent bot was killed',
      '/agents/bot',
    ],
    [
      'a breaker',
      noticeOfBreaker({
        ...{ tenantId: 'acme', scope: 'run', scopeId: 'run-1', agentId: 'bot', version: 2, at: AT },
        state: { kind: 'open', openedAt: AT, reason: 'cost' },
      }),
      'Circuit breaker of run run-1 is open',
      '/runs/run-1',
    ],
    ['an alert', noticeOfAlert({ ...approval, kind: 'rule' }, AT), '*May it pay?*', '/alerts?id=alert%2F1'],
  ])('describes %s and links to it', (_what, notice, words, path) => {
    const body = posted(notice);
    expect(body).toContain(words);
    expect(body).toContain(`${PUBLIC_URL.replace(/\/$/, '')}${path}`);
  });
});

describe('notices of approvals', () => {
  it('are minor after the decision, when the call uses the approval or lets it expire', () => {
    const decided = { ...approval, status: 'approved' as const, decidedBy: 'ann', decidedAt: AT };
    expect(noticeOfAlert(decided, AT).minor).toBe(false);
    expect(noticeOfAlert({ ...decided, usedAt: AT }, AT).minor).toBe(true);
    expect(noticeOfAlert({ ...decided, status: 'expired' }, AT).minor).toBe(true);
    expect(noticeOfAlert({ ...approval, status: 'expired' }, AT).minor).toBe(false);
  });

  it("make invisible characters in an agent's text visible", () => {
    const turned = { ...approval, title: 'pay \u202eyap', message: 'a\u200bb' };
    const text = posted(noticeOfAlert(turned, AT));
    expect(text).toContain('pay \\\\u202eyap');
    expect(text).not.toMatch(/[\u202e\u200b]/);
  });
});
