import { createRule, deleteRule, getRule, listRuns } from '../generated/hey-api';
import { createClient, createConfig } from '../generated/hey-api/client';
import { DRAFT } from './draft';

/** The same as openapi-fetch.ts, with functions named by the operations. */
export async function roundTrip(baseUrl: string, key: string): Promise<void> {
  const client = createClient(createConfig({ baseUrl, auth: key }));
  const made = await createRule({ client, body: DRAFT, throwOnError: true });
  const path = { id: made.data.id };
  const read = await getRule({ client, path, throwOnError: true });
  if (read.data.name !== DRAFT.name) throw new Error('the rule does not read back');
  const { data } = await listRuns({ client, query: { limit: 5 }, throwOnError: true });
  if (!Array.isArray(data.runs)) throw new Error('runs are not listed');
  await deleteRule({ client, path, throwOnError: true });
}
