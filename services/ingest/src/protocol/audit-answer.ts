import type { Problem } from '@agentlens/contracts';
import type { EventOutcome } from '../http/answers.ts';

/** Said of an event that was refused, or kept with a remark. */
interface AuditResult {
  readonly index: number;
  readonly status: number;
  readonly id?: string;
  readonly error: Problem;
}

/** Answer to audit events. The client in the field reads the status only. */
export interface AuditAnswer {
  readonly accepted: number;
  readonly rejected: number;
  /** Only where there is something to say. */
  readonly results?: readonly AuditResult[];
}

export function auditAnswer(outcomes: readonly EventOutcome[]): AuditAnswer {
  const results = outcomes.flatMap((outcome, index) => remarkOn(outcome, index) ?? []);
  const accepted = outcomes.filter(({ ok }) => ok).length;
  const answer = { accepted, rejected: outcomes.length - accepted };
  return results.length === 0 ? answer : { ...answer, results };
}

function remarkOn(outcome: EventOutcome, index: number): AuditResult | undefined {
  const placed = (path: string) => (path === '' ? `events.${index}` : `events.${index}.${path}`);
  if (!outcome.ok) {
    const { status, error, details } = outcome.refusal;
    const where = details.map(({ path, message }) => ({ path: placed(path), message }));
    return { index, status, error: { error, status, details: where } };
  }
  if (outcome.notices === undefined || outcome.notices.length === 0) return undefined;
  const details = outcome.notices.map(({ path, message }) => ({ path: placed(path), message }));
  return { index, status: 202, id: outcome.id, error: { error: 'Kept with a remark', status: 202, details } };
}
