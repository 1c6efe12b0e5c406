import { createHmac } from 'node:crypto';
import { BUNDLE_KEY_LABEL as CONTRACT_LABEL, RuleBundle as Contract } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import type { RuleBundle } from './local-rules.ts';
import { BUNDLE_KEY_LABEL, openBundle, signBundle } from './rule-bundle.ts';

const KEY = 'als_secret';
const bundle: RuleBundle = { agentId: 'a', version: 3, ttlSeconds: 60, askAlways: [], rules: [] };

describe('a rule bundle', () => {
  it('is used if this server signed it for this agent', async () => {
    expect(await openBundle(await signBundle(bundle, KEY), KEY, 'a', 3)).toEqual({ ok: true, bundle });
  });

  it('matches the contract', () => {
    expect(BUNDLE_KEY_LABEL).toBe(CONTRACT_LABEL);
    expect(Contract.parse(bundle)).toEqual(bundle);
  });

  it('is signed as documented, so that any server can sign it', async () => {
    const payload = JSON.stringify(bundle);
    const key = createHmac('sha256', KEY).update('agentlens.rule-bundle.v1').digest();
    const signature = createHmac('sha256', key).update(payload).digest('hex');
    expect(await signBundle(bundle, KEY)).toEqual({ payload, signature });
  });

  it.each([
    [
      'changed',
      'bad signature',
      async () => ({ ...(await signBundle(bundle, KEY)), payload: JSON.stringify({ ...bundle, version: 4 }) }),
    ],
    ['signed with another key', 'bad signature', () => signBundle(bundle, 'other key')],
    ['not signed', 'bad signature', async () => ({ ...(await signBundle(bundle, KEY)), signature: '' })],
    [
      'signed with an invalid signature',
      'bad signature',
      async () => ({ ...(await signBundle(bundle, KEY)), signature: 'zz' }),
    ],
    ['for another agent', 'other agent', () => signBundle({ ...bundle, agentId: 'b' }, KEY)],
    ['older than the one in use', 'older', () => signBundle({ ...bundle, version: 2 }, KEY)],
    ['not a bundle', 'malformed', () => signBundle({ ...bundle, rules: [{}] } as unknown as RuleBundle, KEY)],
    ['not JSON', 'malformed', async () => undefined],
  ])('is rejected if it is %s', async (_, why, make) => {
    expect(await openBundle(await make(), KEY, 'a', 3)).toEqual({ ok: false, why });
  });
});
