import { createRequire } from 'node:module';
import type { Alert } from '@agentlens/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { WebClient as Client } from '@slack/web-api';
import { slackApp } from '../src/channels/kinds/slack-app.ts';
import type { Notice } from '../src/channels/notice.ts';
import { type FakeSlack, startFakeSlack } from './fake-slack.ts';

const { WebClient } = createRequire(import.meta.url)('@slack/web-api') as { WebClient: typeof Client };
const TOKEN = 'xoxb-1';
const AT = '2026-03-01T12:00:00.000Z';
const APPROVAL: Alert = {
  ...{ id: 'alert-1', tenantId: 'acme', kind: 'approval', status: 'pending', severity: 'warn', version: 1 },
  ...{ title: 'May it pay?', message: 'pay wants to run', agentId: 'billing-1', createdAt: AT },
};
const NOTICE: Notice = {
  ...{ id: 'n', tenantId: 'acme', channelId: 'ops', reason: 'approval', route: 'all', at: AT, group: {}, more: 0 },
  ...{ firing: [APPROVAL], resolved: [], everyMs: 0, mayVote: true, publicUrl: 'https://lens.example.com' },
};

describe('the Slack of these specs', () => {
  let slack: FakeSlack;
  let client: Client;
  beforeEach(async () => {
    slack = await startFakeSlack({ token: TOKEN, channel: 'C1' });
    client = newClient(TOKEN);
  });
  afterEach(() => slack.close());

  const newClient = (token: string) =>
    new WebClient(token, { slackApiUrl: `${slack.url}/`, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true });
  const config = () => ({
    ...{ botToken: TOKEN, signingSecret: 's', workspace: 'T1', channel: 'C1', content: 'whole' as const },
    apiUrl: slack.url,
  });
  /** Sends what the channel renders, over the wire. */
  const send = async (notice: Partial<Notice>) => {
    const rendered = slackApp.render(config(), { ...NOTICE, ...notice });
    if (rendered === undefined) throw new Error('nothing to send');
    const { url, method, headers, body } = rendered.request;
    const response = await fetch(url, { method, headers, body: body ?? null });
    const answered = {
      ...{ kind: 'answered' as const, status: response.status, body: await response.text() },
      headers: Object.fromEntries(response.headers),
    };
    return slackApp.read(answered, { ...NOTICE, ...notice }, Date.parse(AT));
  };

  it('is one for the client of Slack: it posts, replies and changes, and its refusals are errors', async () => {
    const { ts = '' } = await client.chat.postMessage({ channel: 'C1', text: 'first', blocks: [] });
    await client.chat.postMessage({ channel: 'C1', text: 'reply', thread_ts: ts });
    expect(await client.chat.update({ channel: 'C1', ts, text: 'changed' })).toMatchObject({ ok: true, ts });
    expect([...slack.messages.values()]).toEqual([
      { channel: 'C1', text: 'changed', blocks: [] },
      { channel: 'C1', text: 'reply', blocks: [], thread: ts },
    ]);
    const refused = (error: string) => ({ code: 'slack_webapi_platform_error', data: { ok: false, error } });
    await expect(client.chat.update({ channel: 'C1', ts: '1.2', text: 'x' })).rejects.toMatchObject(
      refused('message_not_found'),
    );
    await expect(client.chat.postMessage({ channel: 'C9', text: 'x' })).rejects.toMatchObject(
      refused('channel_not_found'),
    );
    await expect(newClient('other').chat.postMessage({ channel: 'C1', text: 'x' })).rejects.toMatchObject(
      refused('invalid_auth'),
    );
  });

  it('shows the same for what the channel sends and for what the client of Slack sends', async () => {
    expect(await send({})).toMatchObject({ kind: 'delivered', receipt: '1700000000.000001' });
    const [ours] = slack.messages.values();
    if (ours === undefined) throw new Error('nothing was posted');
    await client.chat.postMessage({ channel: 'C1', text: ours.text, blocks: [...ours.blocks] as [] });
    expect(slack.messages.get('1700000000.000002')).toEqual(ours);
  });

  it('gets the outcome in the message that asked, and a reminder as a reply', async () => {
    const asked = await send({});
    if (asked.kind !== 'delivered') throw new Error(asked.kind);
    const prior = asked.receipt;
    expect(await send({ reason: 'escalation', prior })).toMatchObject({ kind: 'delivered', receipt: prior });
    const approved = { ...APPROVAL, status: 'approved' as const, decidedBy: 'ann, slack' };
    expect(await send({ reason: 'changed', prior, firing: [], resolved: [approved] })).toMatchObject({
      ...{ kind: 'delivered', receipt: prior },
    });
    const [first, reminder] = slack.messages.values();
    expect(first?.text).toContain('Approval approved by ann, slack');
    expect(JSON.stringify(first?.blocks)).not.toContain('agentlens_approve');
    expect(reminder).toMatchObject({ thread: prior, text: expect.stringContaining('Still waiting') });
  });
});
