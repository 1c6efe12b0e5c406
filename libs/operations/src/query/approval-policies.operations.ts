import { ApprovalPolicy, ClientId, StoredPolicy, TeamId } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';

const TAG = 'Approval policies';
/** A policy id has the form of a team id. */
const PolicyPath = z.object({ id: TeamId });

export const StoredPolicyView = StoredPolicy.meta({ id: 'ApprovalPolicy' });

export const listApprovalPolicies = operation({
  id: 'listApprovalPolicies',
  method: 'get',
  path: '/api/approval-policies',
  tag: TAG,
  summary: 'Who decides approvals, in order: the first policy that matches a call applies.',
  scope: 'read',
  response: z.object({ policies: z.array(StoredPolicyView) }),
});

export const setApprovalPolicy = operation({
  id: 'setApprovalPolicy',
  method: 'put',
  path: '/api/approval-policies/:id',
  tag: TAG,
  summary: 'Create or replace a policy. Approvals that are open keep the policy that they were opened with.',
  scope: 'admin',
  params: PolicyPath,
  headers: VersionHeaders,
  body: z.strictObject({ policy: ApprovalPolicy, place: z.int().min(0).max(10_000).optional() }),
  examples: {
    payments: {
      policy: {
        ...{ name: 'Payments', match: { tools: ['pay_*'] }, approvers: { teams: ['finance'] } },
        ...{ quorum: 2, separation: 'owner', via: ['console'] },
      },
    },
  },
  versioned: true,
  response: StoredPolicyView,
  problems: [412, 422],
});

export const deleteApprovalPolicy = operation({
  id: 'deleteApprovalPolicy',
  method: 'delete',
  path: '/api/approval-policies/:id',
  tag: TAG,
  summary: 'Delete a policy. Approvals that are open keep it.',
  scope: 'admin',
  params: PolicyPath,
  headers: VersionHeaders,
  response: z.object({ id: z.string(), deleted: z.literal(true) }),
  problems: [404, 412],
});

export const explainApprovalPolicy = operation({
  id: 'explainApprovalPolicy',
  method: 'post',
  path: '/api/approval-policies/explain',
  tag: TAG,
  summary: 'The policy that would apply to a call. Null: everyone who may review decides alone.',
  scope: 'read',
  body: z.strictObject({
    agentId: ClientId,
    toolName: z.string().min(1).max(256),
    ruleId: ClientId.default('any rule'),
  }),
  examples: { payment: { agentId: 'billing-1', toolName: 'pay_invoice' } },
  response: z.object({ policy: StoredPolicyView.nullable() }),
});
