import { type Alert, type ChangeAuthor, otherVersion, type VoterRef } from '@agentlens/contracts';
import { alertFromRow, recordChanges, type Tables } from '@agentlens/database';
import type { Kysely, Transaction } from 'kysely';
import type { AlertMetrics } from '../alerts/alert-metrics.ts';
import {
  type AlertRow,
  changeAlert,
  cleanText,
  hasLapsed,
  isOpen,
  lapse,
  lockAlert,
} from '../alerts/alerts.repository.ts';
import { cutOf } from '../alerts/approval-calls.ts';
import { type CommandAnswer, refusal } from '../answer.ts';
import { castVote, decidedBy, type JudgedVote, refusedVote } from './votes.ts';

interface AlertVerdict {
  readonly tenantId: string;
  readonly alertId: string;
  readonly verb: 'acknowledge' | 'approve' | 'deny' | 'cancel';
  readonly by: string;
  readonly reason?: string | undefined;
  readonly author?: ChangeAuthor | undefined;
  /** Absent: a key of a program. */
  readonly voter?: VoterRef | undefined;
  readonly callHash?: string | undefined;
  /** The decision applies only if the alert is at this version. */
  readonly ifVersion?: number | undefined;
}

const KINDS = {
  acknowledge: 'alert.acknowledged',
  approve: 'alert.approved',
  deny: 'alert.denied',
  cancel: 'alert.cancelled',
} as const;
const STATUS = { approve: 'approved', deny: 'denied', cancel: 'cancelled' } as const;

/**
 * Decisions of people about alerts. The first decision wins, under the row lock; later ones are answered with the name
 * of the first author.
 */
export class AlertDecisions {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly metrics: AlertMetrics,
    /** Called after a commit that wrote to the outbox. */
    private readonly onChanged: () => void,
  ) {}

  async decide(verdict: AlertVerdict): Promise<CommandAnswer<Alert>> {
    const answer = await this.db.transaction().execute(async (tx) => {
      const row = await lockAlert(tx, verdict.tenantId, verdict.alertId);
      if (row === undefined) return refusal(404, 'Alert not found');
      const { ifVersion = row.version } = verdict;
      if (ifVersion !== row.version) return otherVersion('alert', ifVersion, row.version);
      const decision = await this.#decide(tx, row, verdict);
      if (
        decision.ok &&
        decision.value.version !== row.version &&
        (verdict.verb === 'acknowledge' || !isOpen(decision.value))
      )
        await this.#record(tx, row, decision.value, verdict);
      return decision;
    });
    this.onChanged();
    if (answer.ok && verdict.verb !== 'acknowledge' && !isOpen(answer.value)) this.metrics.ended(answer.value);
    return answer;
  }

  async #record(tx: Transaction<Tables>, row: AlertRow, after: Alert, { verb, author, reason }: AlertVerdict) {
    const at = new Date(this.now()).toISOString();
    const { tenantId, id: targetId } = after;
    const kept = { before: withoutTexts(alertFromRow(row)), after: withoutTexts(after) };
    await recordChanges(tx, [{ tenantId, at, kind: KINDS[verb], targetId, author, reason, ...kept }]);
  }

  async #decide(tx: Transaction<Tables>, row: AlertRow, verdict: AlertVerdict): Promise<CommandAnswer<Alert>> {
    const now = this.now();
    const at = new Date(now).toISOString();
    // An alert past its expiry cannot be decided, even if the sweeper has not closed it yet.
    if (hasLapsed(row, now)) return decided(await lapse(tx, row, at));
    if (!isOpen(row)) return decided(row);
    if (verdict.verb === 'acknowledge')
      return { ok: true, value: alertFromRow(await acknowledge(tx, row, verdict, at)) };
    if (verdict.verb !== 'cancel' && row.kind !== 'approval') {
      return refusal(422, `Only an approval can be ${STATUS[verdict.verb]}`, 'Acknowledge this alert, or cancel it.');
    }
    const voted = verdict.verb === 'cancel' ? undefined : await this.#vote(tx, row, verdict, verdict.verb, now);
    if (voted?.kind === 'answered') return voted.answer;
    const change = {
      status: STATUS[verdict.verb],
      dedupe: null,
      decided_at: at,
      decided_by: voted?.by ?? cleanText(verdict.by, 300),
      reason: reasonOf(verdict) ?? row.reason,
      // Once approved, the call has the same time again to use the approval.
      expires_at: verdict.verb === 'approve' ? extended(row, now) : row.expires_at,
    };
    return { ok: true, value: alertFromRow(await changeAlert(tx, row, change, at)) };
  }

  /** Judges and stores a vote. `decides`: by these people. */
  async #vote(
    tx: Transaction<Tables>,
    row: AlertRow,
    verdict: AlertVerdict,
    verb: 'approve' | 'deny',
    now: number,
  ): Promise<Voted> {
    const { author, by, callHash } = verdict;
    const voter = verdict.voter ?? { keyId: author?.keyId ?? by, isAgent: false, via: 'api' as const };
    const cast = { verdict: verb, voter, name: cleanText(by, 300), reason: reasonOf(verdict), callHash };
    const { answer, names, standsInFor, read } = await castVote(tx, row, cast, now);
    if (answer.kind === 'refused') {
      if (answer.because === 'call_not_whole')
        return { kind: 'answered', answer: truncatedCall((await cutOf(tx, row)) ?? '') };
      // The state of the alert was checked before, so every other refusal is about the voter.
      const refused =
        refusedVote(answer.because, read, voter) ?? refusal(409, `The vote was refused: ${answer.because}`);
      return { kind: 'answered', answer: refused };
    }
    if (answer.kind === 'unchanged') return { kind: 'answered', answer: { ok: true, value: alertFromRow(row) } };
    if (row.policy !== null) {
      const { wouldRefuse } = answer;
      await this.#recordVote(tx, row, verdict, { vote: verb, wouldRefuse, standsInFor });
    }
    const at = new Date(now).toISOString();
    if (answer.outcome === 'open')
      return { kind: 'answered', answer: { ok: true, value: alertFromRow(await changeAlert(tx, row, {}, at)) } };
    return { kind: 'decides', by: answer.outcome === 'approved' ? decidedBy(names) : decidedBy(names.slice(-1)) };
  }

  async #recordVote(
    tx: Transaction<Tables>,
    row: AlertRow,
    { author }: AlertVerdict,
    { vote, wouldRefuse, standsInFor }: RecordedVote,
  ): Promise<void> {
    const at = new Date(this.now()).toISOString();
    const after = {
      ...{ vote, runId: row.run_id },
      ...(wouldRefuse === undefined ? {} : { wouldRefuse }),
      ...(standsInFor.length === 0 ? {} : { standsInFor }),
    };
    await recordChanges(tx, [
      { tenantId: row.tenant_id, at, kind: 'vote.cast', targetId: row.alert_id, author, after },
    ]);
  }
}

interface RecordedVote {
  readonly vote: 'approve' | 'deny';
  readonly wouldRefuse?: string | undefined;
  /** Those in whose place a deputy voted. */
  readonly standsInFor: JudgedVote['standsInFor'];
}

type Voted =
  | { readonly kind: 'answered'; readonly answer: CommandAnswer<Alert> }
  | { readonly kind: 'decides'; readonly by: string };

/** Marks an alert as seen. The first author stays. An approval still needs its decision. */
async function acknowledge(
  tx: Transaction<Tables>,
  row: AlertRow,
  verdict: AlertVerdict,
  at: string,
): Promise<AlertRow> {
  if (row.status === 'acknowledged') return row;
  const seen = {
    status: 'acknowledged' as const,
    acknowledged_at: at,
    acknowledged_by: cleanText(verdict.by, 300),
    reason: reasonOf(verdict) ?? row.reason,
  };
  // A seen alert does not expire, and the next of its kind is raised as a new one.
  const settled = row.kind === 'approval' ? {} : { dedupe: null, expires_at: null };
  return changeAlert(tx, row, { ...seen, ...settled }, at);
}

/** A call that was shown in part cannot be approved. */
function truncatedCall(cut: string): CommandAnswer<Alert> {
  return {
    ok: false,
    problem: {
      error: 'This call cannot be approved because it was shown only in part',
      code: 'CALL_NOT_WHOLE',
      status: 409,
      details: [{ path: 'call', message: cut }],
      hint: 'Deny it, and have the agent send a smaller call.',
    },
  };
}

function decided(row: AlertRow): CommandAnswer<Alert> {
  const { status, decided_at: at } = row;
  const by = status === 'expired' ? '' : ` by ${row.decided_by ?? 'an unknown person'}`;
  return {
    ok: false,
    problem: {
      error: `Alert is ${status} already`,
      status: 409,
      details: [{ path: 'status', message: `${status}${by}${at === null ? '' : ` at ${at}`}` }],
      hint: status === 'expired' ? 'Its deadline has passed.' : `Decided${by}; the first decision stands.`,
    },
  };
}

/** The message quotes the call, and the audit log outlives it. The entry has the reason in a column of its own. */
function withoutTexts({ title: _title, message: _message, reason: _reason, ...rest }: Alert): object {
  return rest;
}

function reasonOf({ reason }: AlertVerdict): string | null {
  const text = cleanText(reason ?? '', 1_000);
  return text === '' ? null : text;
}

function extended(row: AlertRow, now: number): string | null {
  if (row.expires_at === null) return null;
  return new Date(now + Date.parse(row.expires_at) - Date.parse(row.created_at)).toISOString();
}
