import createClient from 'openapi-fetch';
import type { paths } from '../generated/openapi-typescript';
import { DRAFT } from './draft';

/** Makes a rule, reads it back, lists runs and deletes the rule. @throws Error where an answer is not as documented */
export async function roundTrip(baseUrl: string, key: string): Promise<void> {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });
  const made = await client.POST('/api/guardrails', { body: DRAFT });
  if (made.data === undefined) throw new Error(`the rule was refused: ${JSON.stringify(made.error)}`);
  const params = { path: { id: made.data.id } };
  const read = await client.GET('/api/guardrails/{id}', { params });
  if (read.data?.name !== DRAFT.name) throw new Error('the rule does not read back');
  const runs = await client.GET('/api/runs', { params: { query: { limit: 5 } } });
  if (!Array.isArray(runs.data?.runs)) throw new Error('runs are not listed');
  const gone = await client.DELETE('/api/guardrails/{id}', { params });
  if (gone.response.status !== 200) throw new Error(`the rule was not deleted: ${gone.response.status}`);
}
