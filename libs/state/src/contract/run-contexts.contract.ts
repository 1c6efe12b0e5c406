import { describe, expect, it } from '@jest/globals';
import type { RunContexts } from '../state-stores.ts';
import { fresh } from './requests.ts';

/** What every RunContexts does. */
export function runContextsContract(name: string, contexts: () => RunContexts): void {
  describe(`${name} as run contexts`, () => {
    const context = { sessionId: 's', actor: { externalId: 'u', metadata: { plan: 'pro' } }, tags: { env: 'prod' } };

    it('knows nothing of a run nobody started', async () => {
      expect(await contexts().find('acme', fresh('run'))).toBeUndefined();
    });

    it('keeps what the first start said, whatever later ones say', async () => {
      const runId = fresh('run');
      await contexts().keep('acme', runId, context);
      await contexts().keep('acme', runId, { sessionId: 'other' });
      expect(await contexts().find('acme', runId)).toEqual(context);
    });

    it('keeps tenants apart, and takes ids with any characters', async () => {
      const runId = `${fresh('run')} {}:"\u{1f600}`;
      await contexts().keep('acme', runId, context);
      expect(await contexts().find('globex', runId)).toBeUndefined();
      expect(await contexts().find('acme', runId)).toEqual(context);
    });
  });
}
