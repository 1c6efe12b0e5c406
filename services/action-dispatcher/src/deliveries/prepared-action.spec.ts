import { describe, expect, it } from '@jest/globals';
import { addressOf } from './prepared-action.ts';

describe('the destination of an action', () => {
  it('is identified by a hash of the whole address and shown without its path', () => {
    const found = addressOf('notify_webhook', { url: 'https://hooks.example.com/services/T0/secret?key=1' });
    expect(found).toEqual({ id: expect.stringMatching(/^[0-9a-f]{64}$/), label: 'https://hooks.example.com' });
    expect(addressOf('notify_webhook', { url: 'https://hooks.example.com/other' })?.id).not.toBe(found?.id);
    expect(addressOf('agentgate_policy', { agentgateUrl: 'https://gate.example.com' })?.label).toBe(
      'https://gate.example.com',
    );
  });

  it.each([
    ['pause_agent', {}],
    ['notify_webhook', {}],
    ['notify_webhook', { url: 'nonsense' }],
    ['notify_webhook', { url: 7 }],
    ['unheard_of', { url: 'https://example.com' }],
  ])('does not exist for %s %j', (type, config) => {
    expect(addressOf(type, config)).toBeNull();
  });
});
