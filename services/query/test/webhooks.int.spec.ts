import { COMMANDS } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDeliveryRow, aWebhookRow } from './rows.ts';

let api: OperatorApi;
const asked: object[] = [];

const MESSAGE = { secret: 'sealed-secret', message: { type: 'order.changed', data: { state: 'killed' } } };

beforeAll(async () => {
  api = await startOperatorApi();
  const endpoint = {
    ...{ id: 'wh-1', tenantId: 'acme', url: 'https://example.com/hook', events: ['approvals' as const] },
    ...{ format: 'slack' as const, enabled: true, version: 1, createdAt: NOW, updatedAt: NOW },
  };
  const note =
    <T>(answer: T) =>
    async (question: object) => {
      asked.push(question);
      return granted(answer);
    };
  await api.bus.serve(COMMANDS.createWebhook, note({ ...endpoint, secret: 'whsec_shown' }));
  await api.bus.serve(COMMANDS.updateWebhook, note({ ...endpoint, enabled: false, version: 2 }));
  await api.bus.serve(COMMANDS.rotateWebhookSecret, note({ ...endpoint, secret: 'whsec_next' }));
  await api.bus.serve(COMMANDS.testWebhook, note({ deliveryId: 'd-test' }));
  await api.bus.serve(COMMANDS.deleteWebhook, note({ ok: true as const }));
  await api.insert('webhook_endpoints', aWebhookRow({ webhook_id: 'wh-1', destination: 'gone' }));
  await api.insert('webhook_endpoints', aWebhookRow({ webhook_id: 'wh-2', name: 'On call', format: 'slack' }));
  await api.insert('webhook_endpoints', aWebhookRow({ webhook_id: 'wh-3', tenant_id: 'globex' }));
  await api.insert('destinations', {
    ...{ tenant_id: 'acme', destination: 'gone', label: 'https://example.com' },
    ...{ disabled_at: NOW, disabled_reason: 'HTTP 410: the receiver is gone' },
  });
  await api.insert(
    'deliveries',
    aDeliveryRow({ delivery_id: 'd-1', webhook_id: 'wh-1', rule_id: '', agent_id: '', action_config: MESSAGE }),
  );
  const opened = { type: 'breaker.changed', data: { state: { kind: 'open', reason: 'tokens' } } };
  await api.insert(
    'deliveries',
    aDeliveryRow({ delivery_id: 'd-3', webhook_id: 'wh-2', action_config: { message: opened } }),
  );
  await api.insert('deliveries', aDeliveryRow({ delivery_id: 'd-2' }));
});
afterAll(() => api.close());

describe('webhooks', () => {
  it('are created with defaults by the service that owns them, which shows the secret once', async () => {
    const body = { url: 'https://example.com/hook', events: ['approvals', 'approvals'] };
    const answer = await api.call('POST', '/api/webhooks', { body });
    expect(answer).toMatchObject({ status: 201, body: { id: 'wh-1', secret: 'whsec_shown' } });
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    expect(asked.at(-1)).toEqual({
      ...{ tenantId: 'acme', author },
      draft: { url: 'https://example.com/hook', events: ['approvals'], format: 'standard', enabled: true },
    });
  });

  it.each([
    [{ url: 'ftp://example.com', events: ['approvals'] }, 'url'],
    [{ url: 'https://example.com', events: [] }, 'events'],
    [{ url: 'https://example.com', events: ['aproval'] }, 'events.0'],
    [{ url: 'https://example.com', events: ['audit'], format: 'teams' }, 'format'],
    [{ url: 'https://hooks.slack.com/services/T/B/X', events: ['audit'] }, 'format'],
  ])('are rejected for %j', async (body, path) => {
    expect(await api.call('POST', '/api/webhooks', { body })).toMatchObject({
      status: 400,
      body: { details: [{ path }] },
    });
  });

  it('are listed without secrets, for their own tenant only, and show when a receiver is gone', async () => {
    const { body } = await api.get('/api/webhooks');
    expect(body.webhooks).toMatchObject([
      { id: 'wh-1', disabledReason: 'HTTP 410: the receiver is gone' },
      { id: 'wh-2', name: 'On call', format: 'slack' },
    ]);
    expect(JSON.stringify(body)).not.toContain('sealed');
    expect(await api.get('/api/webhooks/wh-3')).toMatchObject({ status: 404 });
  });

  it('require an admin key, because the address of a channel is a secret', async () => {
    expect((await api.get('/api/webhooks', api.keys.reader.key)).status).toBe(403);
    expect((await api.call('PATCH', '/api/webhooks/wh-1', { key: api.keys.reader.key, body: {} })).status).toBe(403);
  });

  it('are changed, tested, given a new secret and deleted', async () => {
    const patched = await api.call('PATCH', '/api/webhooks/wh-1', { body: { enabled: false, name: null } });
    expect(patched).toMatchObject({ status: 200, body: { enabled: false, version: 2 } });
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    const patch = { enabled: false, name: null };
    expect(asked.at(-1)).toEqual({ tenantId: 'acme', webhookId: 'wh-1', patch, author });
    expect(await api.call('POST', '/api/webhooks/wh-1/test')).toMatchObject({
      ...{ status: 202, body: { deliveryId: 'd-test' } },
    });
    expect(await api.call('POST', '/api/webhooks/wh-1/secret')).toMatchObject({ body: { secret: 'whsec_next' } });
    expect(await api.call('DELETE', '/api/webhooks/wh-1')).toMatchObject({ status: 200, body: { ok: true } });
  });

  it('have a log of their deliveries', async () => {
    const { body } = await api.get('/api/webhooks/wh-1/deliveries');
    expect(body).toMatchObject({ deliveries: [{ id: 'd-1', webhookId: 'wh-1', ruleId: '' }], hasMore: false });
    expect(body.deliveries[0].webhook).toMatchObject({
      host: 'example.com',
      event: 'order.changed',
      status: 'killed',
    });
    expect((await api.get('/api/guardrails/deliveries/d-1')).body.webhook).toEqual(body.deliveries[0].webhook);
    expect((await api.get('/api/guardrails/deliveries/d-3')).body.webhook).toMatchObject({
      ...{ event: 'breaker.changed', status: 'open' },
    });
    // The config of a rule's action has secrets, and no message of ours.
    const { body: others } = await api.get('/api/guardrails/deliveries');
    expect(others.deliveries.find(({ id }: { id: string }) => id === 'd-2')).not.toHaveProperty('webhook');
    expect(JSON.stringify(others)).not.toContain('sealed-secret');
    expect((await api.get('/api/webhooks/none/deliveries')).status).toBe(404);
  });
});
