import type { Problem, ProblemDetail } from '@agentlens/contracts';
import { ProblemException } from '@agentlens/platform';
import type { IntakeVerdict } from '../intake/intake.ts';
import type { Refusal } from '../intake/refusal.ts';

interface Receipt {
  readonly id: string;
  readonly hash: string;
}

/** The answer for one event. */
export type EventOutcome =
  | ({ readonly ok: true; readonly notices?: readonly ProblemDetail[] } & Receipt)
  | { readonly ok: false; readonly refusal: Refusal };

export function outcomeOf(verdict: IntakeVerdict): EventOutcome {
  if (!verdict.ok) return verdict;
  const { event, notices } = verdict;
  return { ok: true, notices, id: event.id, hash: event.hash };
}

/** 201: every event, in request order. */
export interface AllTaken {
  readonly ingested: number;
  readonly events: readonly Receipt[];
  /** What was repaired, if anything. */
  readonly warnings?: readonly ProblemDetail[];
}

interface EventResult extends Partial<Receipt> {
  readonly index: number;
  readonly status: number;
  readonly error?: Problem;
  readonly warnings?: readonly ProblemDetail[];
}

/** 207: a result per event, in request order. */
export interface SomeTaken {
  readonly ingested: number;
  readonly rejected: number;
  readonly results: readonly EventResult[];
}

export function taken<T extends { readonly ok: boolean }>(all: readonly T[]): readonly Extract<T, { ok: true }>[] {
  return all.filter((one): one is Extract<T, { ok: true }> => one.ok);
}

export function refusals(outcomes: readonly EventOutcome[]): readonly Refusal[] {
  return outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.refusal]));
}

export function allTaken(outcomes: readonly EventOutcome[]): AllTaken {
  const events = taken(outcomes).map(({ id, hash }) => ({ id, hash }));
  const warnings = outcomes.flatMap((outcome, index) => warningsOf(outcome, index) ?? []).slice(0, MAX_DETAILS);
  return { ingested: events.length, events, ...(warnings.length === 0 ? {} : { warnings }) };
}

export function someTaken(outcomes: readonly EventOutcome[]): SomeTaken {
  const results = outcomes.map((outcome, index): EventResult => {
    if (outcome.ok) {
      const warnings = warningsOf(outcome, index);
      return { index, status: 201, id: outcome.id, hash: outcome.hash, ...(warnings && { warnings }) };
    }
    const { status, error, code, details } = outcome.refusal;
    return { index, status, error: { error, code, status, details: details.map((detail) => placed(detail, index)) } };
  });
  const ingested = taken(outcomes).length;
  return { ingested, rejected: outcomes.length - ingested, results };
}

/** Maximum number of details. More help no client and make error answers expensive. */
const MAX_DETAILS = 20;

/** The answer to a request that is rejected because some of its events are. */
export function refusedWhole(outcomes: readonly EventOutcome[]): ProblemException {
  const all = refusals(outcomes);
  const status = Math.min(...all.map((refusal) => refusal.status));
  const details = outcomes.flatMap((outcome, index) =>
    outcome.ok ? [] : outcome.refusal.details.map((detail) => placed(detail, index)),
  );
  const { error = 'Validation failed', code } = all.find((refusal) => refusal.status === status) ?? {};
  const hint =
    outcomes.length > all.length
      ? `${all.length} of ${outcomes.length} events are rejected, so none was stored. Add ?partial=true to store the valid ones.`
      : undefined;
  return new ProblemException(status, error, { code, details: details.slice(0, MAX_DETAILS), hint });
}

function warningsOf(outcome: EventOutcome, index: number): readonly ProblemDetail[] | undefined {
  if (!outcome.ok || outcome.notices === undefined || outcome.notices.length === 0) return undefined;
  return outcome.notices.map((detail) => placed(detail, index));
}

function placed({ path, message }: ProblemDetail, index: number): ProblemDetail {
  return { path: path === '' ? `events.${index}` : `events.${index}.${path}`, message };
}
