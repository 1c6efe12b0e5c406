import { ApprovalPolicy, COMMANDS, type StoredPolicy } from '@agentlens/contracts';
import {
  deleteApprovalPolicy,
  explainApprovalPolicy,
  listApprovalPolicies,
  type RequestOf,
  setApprovalPolicy,
} from '@agentlens/operations';
import { choosePolicy } from '@agentlens/people';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

/** Policies of approvals. The dispatcher owns them. */
@Controller()
export class ApprovalPoliciesController {
  constructor(
    private readonly reads: TenantReads,
    private readonly names: KeyNames,
    private readonly commands: Commands,
  ) {}

  @Serves(listApprovalPolicies)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { policies: await this.#read(tenantId) };
  }

  @Serves(setApprovalPolicy)
  async set(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, body, headers }: RequestOf<typeof setApprovalPolicy>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, policyId: id, author, ifVersion: headers['if-match'] };
    return this.commands.forward(COMMANDS.setApprovalPolicy, { ...change, ...body });
  }

  @Serves(deleteApprovalPolicy)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, headers }: RequestOf<typeof deleteApprovalPolicy>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, policyId: id, author, ifVersion: headers['if-match'] };
    return this.commands.forward(COMMANDS.deleteApprovalPolicy, change);
  }

  @Serves(explainApprovalPolicy)
  async explain(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { body }: RequestOf<typeof explainApprovalPolicy>,
  ) {
    const policies = await this.#read(tenantId);
    const chosen = choosePolicy(policies, body);
    return { policy: policies.find(({ id }) => id === chosen?.id) ?? null };
  }

  async #read(tenantId: string): Promise<StoredPolicy[]> {
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('approval_policies')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .orderBy('place')
        .orderBy('policy_id')
        .execute(),
    );
    return rows.map(({ policy_id: id, place, version, body }) => ({
      id,
      place,
      version,
      policy: ApprovalPolicy.parse(body),
    }));
  }
}
