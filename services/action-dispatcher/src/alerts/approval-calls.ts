import { ApprovalCall } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { SecretBox } from '@agentlens/platform';
import type { Kysely, Transaction } from 'kysely';
import type { AlertRow } from './alerts.repository.ts';

/** Writer of `approval_calls`: the sealed arguments of the call that an approval is about. */
export class ApprovalCalls {
  constructor(private readonly secrets: Pick<SecretBox, 'seal'>) {}

  async keep(
    tx: Transaction<Tables>,
    { tenant_id, alert_id, created_at }: AlertRow,
    call: ApprovalCall,
  ): Promise<void> {
    const sealed = this.secrets.seal(JSON.stringify(call), contextOf({ tenant_id, alert_id }));
    await tx
      .insertInto('approval_calls')
      .values({ tenant_id, alert_id, sealed, cut: call.cut ?? null, created_at })
      .execute();
  }
}

type CallOf = Pick<AlertRow, 'tenant_id' | 'alert_id'>;

/** What a call is sealed for. */
function contextOf({ tenant_id, alert_id }: CallOf): string[] {
  return [tenant_id, 'approval_calls', alert_id];
}

/**
 * The call that an approval is about; undefined if none was kept.
 *
 * @throws Error if it was altered, or sealed with a key that this process does not have
 */
export async function readCall(
  db: Kysely<Tables>,
  secrets: Pick<SecretBox, 'open'>,
  { tenant_id, alert_id }: CallOf,
): Promise<ApprovalCall | undefined> {
  const row = await db
    .selectFrom('approval_calls')
    .select('sealed')
    .where('tenant_id', '=', tenant_id)
    .where('alert_id', '=', alert_id)
    .executeTakeFirst();
  return row && ApprovalCall.parse(JSON.parse(secrets.open(row.sealed, contextOf({ tenant_id, alert_id }))));
}

/** Why the arguments were truncated; null if they are complete, or were stored by an earlier version. */
export async function cutOf(
  tx: Transaction<Tables>,
  { tenant_id, alert_id }: Pick<AlertRow, 'tenant_id' | 'alert_id'>,
): Promise<string | null> {
  const row = await tx
    .selectFrom('approval_calls')
    .select('cut')
    .where('tenant_id', '=', tenant_id)
    .where('alert_id', '=', alert_id)
    .executeTakeFirst();
  return row?.cut ?? null;
}
