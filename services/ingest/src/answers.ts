import type { Problem, ProblemDetail } from '@agentlens/contracts';
import { ProblemException } from '@agentlens/platform';
import type { Verdict } from './intake.ts';
import type { Refusal } from './refusal.ts';

export interface Receipt {
  readonly id: string;
  readonly hash: string;
}

/** 201: every event, in request order. */
export interface AllTaken {
  readonly ingested: number;
  readonly events: readonly Receipt[];
}

export interface EventResult extends Partial<Receipt> {
  readonly index: number;
  readonly status: number;
  readonly error?: Problem;
}

/** 207: a result per event, in request order. */
export interface SomeTaken {
  readonly ingested: number;
  readonly rejected: number;
  readonly results: readonly EventResult[];
}

type Taken = Extract<Verdict, { ok: true }>;

export function taken(verdicts: readonly Verdict[]): readonly Taken[] {
  return verdicts.filter((verdict) => verdict.ok);
}

export function refusals(verdicts: readonly Verdict[]): readonly Refusal[] {
  return verdicts.flatMap((verdict) => (verdict.ok ? [] : [verdict.refusal]));
}

export function allTaken(verdicts: readonly Verdict[]): AllTaken {
  const events = taken(verdicts).map(({ event }) => ({ id: event.id, hash: event.hash }));
  return { ingested: events.length, events };
}

export function someTaken(verdicts: readonly Verdict[]): SomeTaken {
  const results = verdicts.map((verdict, index): EventResult => {
    if (verdict.ok) return { index, status: 201, id: verdict.event.id, hash: verdict.event.hash };
    const { status, error, details } = verdict.refusal;
    return { index, status, error: { error, status, details: details.map((detail) => placed(detail, index)) } };
  });
  const ingested = taken(verdicts).length;
  return { ingested, rejected: verdicts.length - ingested, results };
}

/** More details than this help nobody and make an error answer a weapon. */
const MAX_DETAILS = 20;

/** The answer to a request that is not taken because some of its events cannot be. */
export function refusedWhole(verdicts: readonly Verdict[]): ProblemException {
  const all = refusals(verdicts);
  const status = all.some((refusal) => refusal.status === 400) ? 400 : 409;
  const details = verdicts.flatMap((verdict, index) =>
    verdict.ok ? [] : verdict.refusal.details.map((detail) => placed(detail, index)),
  );
  const error = all.find((refusal) => refusal.status === status)?.error ?? 'Validation failed';
  const hint =
    verdicts.length > all.length
      ? `${all.length} of ${verdicts.length} events are refused, so none was taken. Add ?partial=true to have the good ones taken.`
      : undefined;
  return new ProblemException(status, error, { details: details.slice(0, MAX_DETAILS), hint });
}

function placed({ path, message }: ProblemDetail, index: number): ProblemDetail {
  return { path: path === '' ? `events.${index}` : `events.${index}.${path}`, message };
}
