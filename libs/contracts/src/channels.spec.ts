import { describe, expect, it } from '@jest/globals';
import { ChannelDraft } from './channels.ts';

const MAIL = { kind: 'email', host: 'smtp.example.com', from: 'lens@example.com', to: ['ops@example.com'] };
const SLACK = {
  ...{ kind: 'slack_app', botToken: 'xoxb-1', signingSecret: 's', workspace: 'T024BE7LD', channel: 'C024BE91L' },
};
const wrongAt = (config: object) => {
  const parsed = ChannelDraft.safeParse({ config });
  return parsed.success ? [] : [...new Set(parsed.error.issues.map(({ path }) => path.slice(1).join('.')))];
};

describe('a channel', () => {
  it.each([
    ['two recipients in one text', { ...MAIL, to: ['ops@example.com, eve@example.com'] }, 'to.0'],
    ['a recipient with a name', { ...MAIL, to: ['Ops <ops@example.com>'] }, 'to.0'],
    ['a recipient with a line break', { ...MAIL, to: ['ops@example.com\r\nBcc: eve@example.com'] }, 'to.0'],
    ['21 recipients', { ...MAIL, to: Array.from({ length: 21 }, (_, n) => `ops-${n}@example.com`) }, 'to'],
    ['no recipient', { ...MAIL, to: [] }, 'to'],
    ['a password without encryption', { ...MAIL, security: 'none', user: 'u', password: 'p' }, 'security'],
    ['the name of a workspace instead of its id', { ...SLACK, workspace: 'acme' }, 'workspace'],
    ['the name of a channel instead of its id', { ...SLACK, channel: '#ops' }, 'channel'],
    ['a routing key that is cut', { kind: 'pagerduty', routingKey: 'k'.repeat(31) }, 'routingKey'],
    ['an invalid address', { kind: 'alertmanager_webhook', url: 'keep.example.com' }, 'url'],
  ])('with %s is refused, and the field is named', (_what, config, path) => {
    expect(wrongAt(config)).toEqual([path]);
  });

  it('is taken as it should be written', () => {
    expect([MAIL, SLACK].flatMap(wrongAt)).toEqual([]);
  });
});
