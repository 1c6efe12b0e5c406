import type { Alert } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { Notice, ReceiverAnswer } from '../notice.ts';
import { alertmanager } from './alertmanager.ts';
import { alertmanagerWebhook } from './alertmanager-webhook.ts';
import { pagerDuty } from './pagerduty.ts';
import { ENQUEUE_SCHEMA } from './pagerduty-schema.testing.ts';
import { slackWebhook } from './slack-webhook.ts';
import { teams } from './teams.ts';

const AT = '2026-03-01T12:00:00.000Z';
const anAlert = (fields: Partial<Alert> = {}): Alert => ({
  ...{ id: 'alert-1', tenantId: 'acme', kind: 'rule', status: 'pending', severity: 'warn', version: 1 },
  ...{ title: 'Look', message: 'at this', agentId: 'agent-1', createdAt: AT, ...fields },
});
const aNotice = (fields: Partial<Notice> = {}): Notice => ({
  ...{ id: 'n', tenantId: 'acme', channelId: 'ops', reason: 'first', route: 'all', at: AT, group: {}, more: 0 },
  ...{
    firing: [anAlert()],
    resolved: [],
    everyMs: 60_000,
    mayVote: false,
    publicUrl: 'https://lens.example.com',
    ...fields,
  },
});
const bodyOf = (rendered: { readonly request: { readonly body?: string } } | undefined) =>
  JSON.parse(rendered?.request.body ?? 'null');
const answered = (status: number, headers: Record<string, string> = {}): ReceiverAnswer => ({
  ...{ kind: 'answered', status, headers, body: 'why' },
});

const NONE: Record<string, string> = {};
const SOON: Record<string, string> = { 'Retry-After': '7' };

describe('PagerDuty', () => {
  const config = { routingKey: 'k'.repeat(32) };
  const event = (fields: Partial<Notice>) => bodyOf(pagerDuty.render(config, aNotice(fields)));

  const validate = addFormats.default(new Ajv2020({ strict: false })).compile(ENQUEUE_SCHEMA);
  it('gets only bodies that its published schema accepts', () => {
    const Title = fc.string({ unit: 'binary', maxLength: 100 });
    const Any = fc.record({
      severity: fc.constantFrom<Alert['severity'][]>('info', 'warn', 'error', 'critical'),
      status: fc.constantFrom<Alert['status'][]>('pending', 'acknowledged', 'expired', 'cancelled', 'approved'),
      ...{ title: Title, message: Title, agentId: fc.string({ minLength: 1, maxLength: 300 }) },
    });
    const reason = fc.constantFrom<Notice['reason'][]>('first', 'new', 'resolved', 'rerouted', 'escalation', 'test');
    fc.assert(
      fc.property(Any, reason, fc.boolean(), (fields, because, fires) => {
        const alerts = [anAlert(fields)];
        const body = event({ reason: because, firing: fires ? alerts : [], resolved: fires ? [] : alerts });
        if (!validate(body)) throw new Error(JSON.stringify(validate.errors));
      }),
    );
  });

  it('would be refused by that schema for a severity of ours or an end without a key', () => {
    const body = event({});
    expect(validate({ ...body, payload: { ...body.payload, severity: 'warn' } })).toBe(false);
    expect(validate({ ...body, event_action: 'resolve', dedup_key: undefined })).toBe(false);
  });

  it('gets a summary of at most 1,024 characters, of which none is cut in half', () => {
    const { payload } = event({ firing: [anAlert({ title: '😀'.repeat(1_100) })] });
    expect(Array.from(payload.summary)).toHaveLength(1_024);
    expect(payload.summary.isWellFormed()).toBe(true);
  });

  it('loses the details instead of the page if they are too large', () => {
    const { payload } = event({ firing: [anAlert({ message: 'x'.repeat(500_000) })] });
    expect(payload.custom_details).toBeUndefined();
  });

  it('opens and resolves under one key, which is a digest if it is too long', () => {
    const id = 'x'.repeat(300);
    const opened = event({ firing: [anAlert({ id })] });
    const closed = event({ firing: [], resolved: [anAlert({ id, status: 'acknowledged' })], reason: 'resolved' });
    expect([opened.event_action, closed.event_action]).toEqual(['trigger', 'resolve']);
    expect(closed.dedup_key).toBe(opened.dedup_key);
    expect(opened.dedup_key).toHaveLength(64);
  });

  it.each([
    [202, NONE, { kind: 'delivered', receipt: 'agentlens:acme:alert-1' }],
    [400, NONE, { kind: 'rejected', reason: 'HTTP 400: why' }],
    [429, SOON, { kind: 'retry', afterMs: 7_000, destinationDown: false }],
    [500, NONE, { kind: 'retry', destinationDown: true }],
    [410, NONE, { kind: 'rejected', disableDestination: true }],
  ])('that answers %i', (status, headers, outcome) => {
    expect(pagerDuty.read(answered(status, headers), aNotice(), Date.parse(AT))).toMatchObject(outcome);
  });
});

describe('Teams', () => {
  it('gets a card of at most 24 kB that says how many alerts it leaves out, and no links that agents wrote', () => {
    const firing = Array.from({ length: 50 }, (_, n) =>
      anAlert({ id: `a${n}`, message: `[x](http://e) ${'ü'.repeat(900)}` }),
    );
    const rendered = teams.render({ url: 'https://example.com/flow' }, aNotice({ firing }));
    expect(Buffer.byteLength(rendered?.request.body ?? '')).toBeLessThanOrEqual(24_000);
    const [{ content }] = bodyOf(rendered).attachments;
    expect(content.body.at(-1).text).toMatch(/^and \d+ more$/);
    expect(JSON.stringify(content.body)).not.toContain('[x](');
  });
});

describe('a Slack webhook', () => {
  it('escapes what could mention a channel, and stays below the limits of blocks', () => {
    const firing = Array.from({ length: 60 }, (_, n) =>
      anAlert({ id: `a${n}`, title: '<!channel>', message: '&'.repeat(2_000) }),
    );
    const { blocks, text } = bodyOf(
      slackWebhook.render({ url: 'https://hooks.slack.com/services/x' }, aNotice({ firing })),
    );
    expect(blocks.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(blocks)).not.toContain('<!channel>');
    for (const block of blocks) expect((block.text?.text ?? '').length).toBeLessThanOrEqual(3_000);
    expect(text).toContain('60 alerts');
  });
});

describe('an Alertmanager', () => {
  it('is given alerts that live for four intervals, and ends at once', () => {
    const notice = aNotice({ resolved: [anAlert({ id: 'alert-2', status: 'cancelled' })] });
    const [firing, ended] = bodyOf(alertmanager.render({ url: 'https://am.example.com/' }, notice));
    expect(firing).toMatchObject({
      labels: { alert_id: 'alert-1', severity: 'warn' },
      endsAt: '2026-03-01T12:04:00.000Z',
    });
    expect(ended).toMatchObject({ labels: { alert_id: 'alert-2' }, endsAt: AT });
  });
});

describe('a receiver of Alertmanager webhooks', () => {
  const config = { url: 'https://keep.example.com/hook', bearerToken: 'secret' };
  const send = (fields: Partial<Notice>) => alertmanagerWebhook.render(config, aNotice(fields))?.request;

  it('gets the group with what its alerts have in common', () => {
    const resolved = [anAlert({ id: 'alert-2', agentId: 'agent-2', status: 'cancelled' })];
    const request = send({ resolved, group: { severity: 'warn' }, more: 3 });
    expect(request?.headers).toMatchObject({ authorization: 'Bearer secret' });
    const body = JSON.parse(request?.body ?? 'null');
    expect(body).toMatchObject({
      ...{ version: '4', status: 'firing', receiver: 'ops', truncatedAlerts: 3 },
      groupLabels: { severity: 'warn' },
      groupKey: '{}/{route="all"}:{severity="warn"}',
      commonAnnotations: { summary: 'Look', description: 'at this' },
      alerts: [
        { status: 'firing', endsAt: '0001-01-01T00:00:00Z', labels: { alert_id: 'alert-1', agent: 'agent-1' } },
        { status: 'resolved', endsAt: AT, labels: { alert_id: 'alert-2', agent: 'agent-2' } },
      ],
    });
    expect(body.commonLabels).toEqual({ alertname: 'Look', kind: 'rule', severity: 'warn' });
    expect(new Set(body.alerts.map((one: { fingerprint: string }) => one.fingerprint)).size).toBe(2);
  });

  it('knows an alert by the same fingerprint from its beginning to its end', () => {
    const [opened, closed] = [send({}), send({ firing: [], resolved: [anAlert({ status: 'cancelled', version: 2 })] })];
    const [first, last] = [opened, closed].map((request) => JSON.parse(request?.body ?? 'null'));
    expect([first.status, last.status]).toEqual(['firing', 'resolved']);
    expect(last.alerts[0].fingerprint).toBe(first.alerts[0].fingerprint);
    expect(last.groupKey).toBe(first.groupKey);
  });
});
