import { sql, type Transaction } from 'kysely';
import type { Tables } from './schema/tables.ts';

/**
 * One transaction at a time, over all replicas: whoever asks for the same lock waits until this transaction ends.
 *
 * @param purpose what must not happen twice at once: `rules`, `alerts`
 * @param tenantId within one tenant only; without it for all
 */
export async function lockUntilEnd(tx: Transaction<Tables>, purpose: string, tenantId?: string): Promise<void> {
  const name = ['agentlens', purpose, ...(tenantId === undefined ? [] : [tenantId])].join(':');
  await sql`select pg_advisory_xact_lock(hashtext(${name}))`.execute(tx);
}
