import type { ApprovalCall } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { SecretBox } from '@agentlens/platform';
import type { Transaction } from 'kysely';
import type { AlertRow } from './alerts.repository.ts';

/** Writer of `approval_calls`: the sealed arguments of the call that an approval is about. */
export class ApprovalCalls {
  constructor(private readonly secrets: Pick<SecretBox, 'seal'>) {}

  async keep(
    tx: Transaction<Tables>,
    { tenant_id, alert_id, created_at }: AlertRow,
    call: ApprovalCall,
  ): Promise<void> {
    const sealed = this.secrets.seal(JSON.stringify(call), [tenant_id, 'approval_calls', alert_id]);
    await tx
      .insertInto('approval_calls')
      .values({ tenant_id, alert_id, sealed, cut: call.cut ?? null, created_at })
      .execute();
  }
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
