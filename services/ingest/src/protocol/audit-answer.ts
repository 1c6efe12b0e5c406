import type { Problem } from '@agentlens/contracts';
import type { Verdict } from '../intake.ts';

/** Said of an event that was refused, or kept with a remark. */
export interface AuditResult {
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

export function auditAnswer(verdicts: readonly Verdict[]): AuditAnswer {
  const results = verdicts.flatMap((verdict, index) => remarkOn(verdict, index) ?? []);
  const accepted = verdicts.filter(({ ok }) => ok).length;
  const answer = { accepted, rejected: verdicts.length - accepted };
  return results.length === 0 ? answer : { ...answer, results };
}

function remarkOn(verdict: Verdict, index: number): AuditResult | undefined {
  const placed = (path: string) => (path === '' ? `events.${index}` : `events.${index}.${path}`);
  if (!verdict.ok) {
    const { status, error, details } = verdict.refusal;
    const where = details.map(({ path, message }) => ({ path: placed(path), message }));
    return { index, status, error: { error, status, details: where } };
  }
  if (verdict.notices === undefined || verdict.notices.length === 0) return undefined;
  const details = verdict.notices.map(({ path, message }) => ({ path: placed(path), message }));
  return { index, status: 202, id: verdict.event.id, error: { error: 'Kept with a remark', status: 202, details } };
}
