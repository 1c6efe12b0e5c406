import {
  type Alert,
  type AppliedPolicy,
  type ApprovalBinding,
  type ApprovalCall,
  canonicalJson,
  type EndedCall,
  sha256Hex,
  timeOrderedId,
} from '@agentlens/contracts';
import { alertFromRow, type Tables } from '@agentlens/database';
import { countEligible } from '@agentlens/people';
import type { Kysely, Transaction } from 'kysely';
import type { AlertMetrics } from '../alerts/alert-metrics.ts';
import {
  type AlertRow,
  changeAlert,
  cleanText,
  deniedCall,
  END_OF_RUN,
  hasLapsed,
  lapse,
  lockByBinding,
  type NewAlert,
  noteRetry,
  openAlert,
  spendApprovals,
} from '../alerts/alerts.repository.ts';
import type { ApprovalCalls } from '../alerts/approval-calls.ts';
import { type CommandAnswer, refusal } from '../answer.ts';
import { readBallot, readOpening } from './ballots.ts';
import type { QuorumAlerts, Reach } from './quorum-alerts.ts';

/**
 * A client without request ids that repeats a question this soon after its approval was used has lost the answer. Later
 * it is taken for another call.
 */
const RETRY_MS = 10_000;

/**
 * What to do when a call asks for its approval.
 *
 * - `open`: ask a person, this call has no approval yet
 * - `use`: the call is approved; use the approval
 * - `retry`: the question that used it is repeated, which is allowed once
 * - `lapse`: the approval has expired
 * - `answer`: answer with its current state
 */
type ApprovalStep = 'open' | 'use' | 'retry' | 'lapse' | 'answer';

type Progress = Pick<
  AlertRow,
  'status' | 'decided_by' | 'expires_at' | 'used_at' | 'used_by' | 'retried_at' | 'spent_at'
>;

/** Identifies the question of a client. */
interface AskedAs {
  readonly callId?: string | undefined;
  /** The same on every retry. */
  readonly requestId?: string | undefined;
}

/** A denied, expired or cancelled approval stays so for this call, unless its run had ended and now goes on. */
export function approvalStep(row: Progress | undefined, asked: AskedAs, now: number): ApprovalStep {
  if (row === undefined) return 'open';
  if (hasLapsed(row, now)) return 'lapse';
  if (row.status === 'cancelled' && row.decided_by === END_OF_RUN) return 'open';
  if (row.status !== 'approved') return 'answer';
  if (row.used_at === null) return 'use';
  if (row.spent_at !== null) return 'open';
  if (asked.callId !== undefined) return 'answer';
  if (asked.requestId !== undefined || row.used_by !== null) return asked.requestId === row.used_by ? 'answer' : 'open';
  return row.retried_at === null && now - Date.parse(row.used_at) <= RETRY_MS ? 'retry' : 'open';
}

interface ApprovalQuestion {
  readonly tenantId: string;
  readonly agentId: string;
  readonly binding: ApprovalBinding;
  readonly requestId?: string | undefined;
  readonly askedBy?: string | undefined;
  readonly title: string;
  readonly message: string;
  readonly call?: ApprovalCall | undefined;
  readonly expiresInSeconds: number;
  /** Absent: an equal call that a person denied in this run is denied again. */
  readonly asksAgain?: boolean | undefined;
}

interface EndedCalls {
  readonly tenantId: string;
  readonly calls: readonly EndedCall[];
}

/** The loser of a race reads what the winner wrote. More rounds than this point to another fault. */
const MAX_ROUNDS = 5;

/** Postgres and JavaScript cannot represent dates far beyond this. */
const MAX_WAIT_S = 366 * 24 * 3600;

interface Taken {
  readonly step: ApprovalStep;
  readonly row: AlertRow;
  /** Of a new approval with a policy: whether enough people may decide. */
  readonly reach?: Reach | undefined;
}

/** Approvals of single calls. An approval is used once, under a row lock that decides between replicas. */
export class Approvals {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly metrics: AlertMetrics,
    private readonly calls: ApprovalCalls,
    private readonly quorums: Pick<QuorumAlerts, 'report'>,
    /** Called after a commit that wrote to the outbox. */
    private readonly onChanged: () => void,
  ) {}

  async resolve(question: ApprovalQuestion): Promise<CommandAnswer<Alert>> {
    for (let turn = 0; turn < MAX_ROUNDS; turn++) {
      const taken = await this.db.transaction().execute((tx) => this.#take(tx, question));
      if (taken === 'raced') continue;
      if (taken === 'foreign') {
        return refusal(409, 'This call was requested by another agent', 'Give every run a unique id.');
      }
      this.#count(taken);
      // After the commit: raising an alert takes a lock that must not wait for this transaction.
      if (taken.reach !== undefined) await this.quorums.report(taken.reach);
      return { ok: true, value: alertFromRow(taken.row) };
    }
    throw new Error(`could not resolve the approval of a call of run ${question.binding.runId}`);
  }

  /** Marks the approvals of ended calls as spent, so that they answer no further question. */
  async spend({ tenantId, calls }: EndedCalls): Promise<CommandAnswer<{ spent: number }>> {
    const spent = await spendApprovals(this.db, tenantId, calls, new Date(this.now()).toISOString());
    return { ok: true, value: { spent } };
  }

  async #take(tx: Transaction<Tables>, question: ApprovalQuestion): Promise<Taken | 'raced' | 'foreign'> {
    const now = this.now();
    const at = new Date(now).toISOString();
    const key = bindingKey(question.binding);
    const row = await lockByBinding(tx, question.tenantId, key);
    if (row !== undefined && !isSameCall(row, question)) return 'foreign';
    const step = approvalStep(row, { callId: question.binding.callId, requestId: question.requestId }, now);
    if (row === undefined && question.asksAgain !== true) {
      const denied = await deniedCall(tx, question.tenantId, question.agentId, question.binding);
      if (denied !== undefined) return { step: 'answer', row: denied };
    }
    if (row === undefined || step === 'open') {
      const opening = await readOpening(tx, question.tenantId, question.agentId, question.binding, now);
      const { binding: approval, policy, requesters } = opening;
      const opened = await openAlert(tx, { ...newApproval(question, key, now), approval, policy, requesters });
      if (opened === undefined) return 'raced';
      if (question.call !== undefined) await this.calls.keep(tx, opened, question.call);
      return { step: 'open', row: opened, reach: await readReach(tx, opened, policy, now) };
    }
    if (step === 'lapse') return { step, row: await lapse(tx, row, at) };
    if (step === 'retry') await noteRetry(tx, row, at);
    if (step === 'use') {
      const used = { used_at: at, used_by: question.requestId ?? null };
      return { step, row: await changeAlert(tx, row, used, at) };
    }
    return { step, row };
  }

  #count({ step, row }: Taken): void {
    if (step === 'answer' || step === 'retry') return;
    if (step === 'open') this.metrics.raised('approval', 'raised');
    if (step === 'use') this.metrics.used();
    if (step === 'lapse') this.metrics.ended(alertFromRow(row));
    this.onChanged();
  }
}

/** A policy that is only reported refuses nothing, so its quorum cannot be out of reach. */
async function readReach(
  tx: Transaction<Tables>,
  row: AlertRow,
  applied: AppliedPolicy | undefined,
  now: number,
): Promise<Reach | undefined> {
  if (applied === undefined || applied.policy.mode === 'report') return undefined;
  const { id: policyId, policy } = applied;
  const { ballot, people } = await readBallot(tx, row, now);
  const programs = policy.quorum === 1 && policy.approvers.anyone && policy.via.includes('api') ? 1 : 0;
  const eligible = countEligible(ballot, people) + programs;
  const { tenant_id: tenantId, agent_id: agentId, run_id: runId } = row;
  return { tenantId, agentId, runId: runId ?? undefined, policyId, name: policy.name, quorum: policy.quorum, eligible };
}

/** Digest of run, call, tool, arguments, rule and rule version. */
function bindingKey(binding: ApprovalBinding): string {
  return sha256Hex(canonicalJson(binding));
}

/** Compares in full what the key is a digest of, because the call depends on it. */
function isSameCall(row: AlertRow, { agentId, binding }: ApprovalQuestion): boolean {
  // The approval may be for fewer rules than those that ask.
  const { also: _, ...stored } = row.approval ?? {};
  const { also: __, ...asked } = binding;
  return row.agent_id === agentId && canonicalJson(stored) === canonicalJson(asked);
}

function newApproval(question: ApprovalQuestion, key: string, now: number): NewAlert {
  const { tenantId, agentId, binding, askedBy, title, message, expiresInSeconds } = question;
  const waitMs = Math.min(expiresInSeconds, MAX_WAIT_S) * 1_000;
  return {
    tenant_id: tenantId,
    alert_id: timeOrderedId(now),
    kind: 'approval',
    severity: 'warn',
    title: cleanText(title, 200),
    message: cleanText(message, 2_000),
    agent_id: agentId,
    run_id: binding.runId,
    rule_id: binding.ruleId,
    approval: binding,
    asked_by: askedBy ?? null,
    binding: key,
    dedupe: null,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + waitMs).toISOString(),
    suppressed: 0,
  };
}
