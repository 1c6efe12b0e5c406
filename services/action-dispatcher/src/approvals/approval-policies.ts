import {
  type ApprovalPolicy,
  type ChangeAuthor,
  MAX_APPROVAL_POLICIES,
  otherVersion,
  type StoredPolicy,
} from '@agentlens/contracts';
import { lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import type { Kysely } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';

interface PolicyRef {
  readonly tenantId: string;
  readonly policyId: string;
  readonly author?: ChangeAuthor | undefined;
  readonly ifVersion?: number | undefined;
}

interface PolicyDraft extends PolicyRef {
  readonly place?: number | undefined;
  readonly policy: ApprovalPolicy;
}

/** Writer of `approval_policies`. */
export class ApprovalPolicies {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
  ) {}

  /** Creates or replaces a policy. Open approvals keep their copy. */
  set({ tenantId, policyId, place, policy, author, ifVersion }: PolicyDraft): Promise<CommandAnswer<StoredPolicy>> {
    const at = new Date(this.now()).toISOString();
    return this.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'approval policies', tenantId);
      const rows = await tx.selectFrom('approval_policies').selectAll().where('tenant_id', '=', tenantId).execute();
      const before = rows.find(({ policy_id }) => policy_id === policyId);
      if (ifVersion !== undefined && ifVersion !== (before?.version ?? 0))
        return otherVersion('approval policy', ifVersion, before?.version ?? 0);
      if (before === undefined && rows.length >= MAX_APPROVAL_POLICIES) {
        return refusal(
          422,
          `A tenant has at most ${MAX_APPROVAL_POLICIES} approval policies`,
          'Delete one that is no longer needed.',
        );
      }
      const teams = await tx.selectFrom('teams').select('team_id').where('tenant_id', '=', tenantId).execute();
      const unknown = policy.approvers.teams.find((team) => !teams.some(({ team_id }) => team_id === team));
      if (unknown !== undefined)
        return refusal(422, `There is no team "${unknown}"`, 'Create the team first, or correct "approvers.teams".');
      const { onCall = [] } = policy.approvers;
      const schedules = await tx
        .selectFrom('on_call_schedules')
        .select('schedule_id')
        .where('tenant_id', '=', tenantId)
        .execute();
      const missing = onCall.find((id) => !schedules.some(({ schedule_id }) => schedule_id === id));
      if (missing !== undefined)
        return refusal(
          422,
          `There is no on-call schedule "${missing}"`,
          'Create the schedule first, or correct "approvers.onCall".',
        );
      const last = Math.max(0, ...rows.map((row) => row.place));
      const values = {
        ...{
          place: place ?? before?.place ?? last + 1,
          body: JSON.stringify(policy),
          version: (before?.version ?? 0) + 1,
        },
        ...{ saved_by: author?.personId ?? null, saved_at: at },
      };
      await tx
        .insertInto('approval_policies')
        .values({ tenant_id: tenantId, policy_id: policyId, ...values })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'policy_id']).doUpdateSet(values))
        .execute();
      const kind = before === undefined ? 'approval_policy.created' : 'approval_policy.changed';
      await recordChanges(tx, [
        { tenantId, at, kind, targetId: policyId, author, before: before?.body, after: policy },
      ]);
      return { ok: true, value: { id: policyId, place: values.place, version: values.version, policy } };
    });
  }

  delete({ tenantId, policyId, author, ifVersion }: PolicyRef): Promise<CommandAnswer<{ id: string; deleted: true }>> {
    const at = new Date(this.now()).toISOString();
    return this.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'approval policies', tenantId);
      const before = await tx
        .selectFrom('approval_policies')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('policy_id', '=', policyId)
        .executeTakeFirst();
      if (before === undefined) return refusal(404, 'Approval policy not found');
      if (ifVersion !== undefined && ifVersion !== before.version)
        return otherVersion('approval policy', ifVersion, before.version);
      await tx
        .deleteFrom('approval_policies')
        .where('tenant_id', '=', tenantId)
        .where('policy_id', '=', policyId)
        .execute();
      await recordChanges(tx, [
        { tenantId, at, kind: 'approval_policy.deleted', targetId: policyId, author, before: before.body },
      ]);
      return { ok: true, value: { id: policyId, deleted: true } };
    });
  }
}
