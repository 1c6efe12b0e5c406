import { describe, expect, it } from '@jest/globals';
import type { RunContexts } from '../state-stores.ts';
import { fresh } from './requests.ts';

/** Contract of every RunContexts. */
export function runContextsContract(name: string, contexts: () => RunContexts): void {
  describe(`run contexts contract: ${name}`, () => {
    const context = { sessionId: 's', actor: { externalId: 'u', metadata: { plan: 'pro' } }, tags: { env: 'prod' } };

    it('returns nothing for an unknown run', async () => {
      expect(await contexts().find('acme', fresh('run'))).toBeUndefined();
    });

    it('keeps the context of the first start', async () => {
      const runId = fresh('run');
      await contexts().keep('acme', runId, context);
      await contexts().keep('acme', runId, { sessionId: 'other' });
      expect(await contexts().find('acme', runId)).toEqual(context);
    });

    it('separates tenants and accepts ids with any characters', async () => {
      const runId = `${fresh('run')} {}:"\u{1f600}`;
      await contexts().keep('acme', runId, context);
      expect(await contexts().find('globex', runId)).toBeUndefined();
      expect(await contexts().find('acme', runId)).toEqual(context);
    });
  });
}
