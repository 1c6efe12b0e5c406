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

    it('forgets the actor of a run and nothing else', async () => {
      const [runId, other] = [fresh('run'), fresh('run')];
      for (const run of [runId, other]) await contexts().keep('acme', run, { ...context, agentId: 'a' });
      await contexts().forgetActor('globex', [runId]);
      expect(await contexts().find('acme', runId)).toEqual({ ...context, agentId: 'a' });
      await contexts().forgetActor('acme', [fresh('run'), runId]);
      expect(await contexts().find('acme', runId)).toEqual({ agentId: 'a', sessionId: 's', tags: context.tags });
      expect(await contexts().find('acme', other)).toEqual({ ...context, agentId: 'a' });
      await contexts().keep('acme', runId, context);
      expect(await contexts().find('acme', runId)).not.toHaveProperty('actor');
    });

    it('separates tenants and accepts ids with any characters', async () => {
      const runId = `${fresh('run')} {}:"\u{1f600}`;
      await contexts().keep('acme', runId, context);
      expect(await contexts().find('globex', runId)).toBeUndefined();
      expect(await contexts().find('acme', runId)).toEqual(context);
    });
  });
}
