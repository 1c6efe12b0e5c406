import type { AdvanceAnswer, AdvanceRequest, Series, SeriesShape, WindowSpan } from '@agentlens/guardrails';
import { NO_TOTALS, oncePer } from '@agentlens/guardrails/ports';

const SPECIAL = /[%{}:]/;

/** Client-chosen text as one part of a name: it cannot end its part or a Redis hash tag, so no two names meet. */
export function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(/[%{}:]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

/** One name per series, the same in every store: `cost_usd:10m:sum`, `error_count:run:<run id>:sum`, `x:day:2026-11-21:spread`. */
export const seriesName = oncePer(
  ({ metric, span, shape }: Series) => `${escaped(metric)}:${spanName(span)}:${LAYOUTS[shape]}`,
);

/** A shape whose layout changes is kept under another name from then on. Its name comes last: replies are read by it. */
const LAYOUTS: Record<SeriesShape, string> = { sum: 'sum', spread: 'spread', quantiles: '4:quantiles' };

function spanName(span: WindowSpan): string {
  switch (span.kind) {
    case 'sliding':
      return `${span.minutes}m`;
    case 'run':
      return `run:${escaped(span.runId)}`;
    case 'day':
      return `day:${span.day}`;
  }
}

/** What a request asked for, by name, so that a kept answer can be matched to a later question. */
export interface WindowQuestion {
  readonly series: readonly string[];
  readonly cooldowns: readonly string[];
}

export function questionOf(request: AdvanceRequest): WindowQuestion {
  return { series: request.series.map(seriesName), cooldowns: cooldownNames(request.cooldowns) };
}

/** Most messages of a tenant are about the same list of rules. */
const cooldownNames = oncePer((cooldowns: AdvanceRequest['cooldowns']) => cooldowns.map(cooldownName));

/** One name per cooldown of an agent, the same in every store. A dry run cools for itself. */
export function cooldownName({ ruleId, dryRun }: AdvanceRequest['cooldowns'][number]): string {
  return dryRun ? `${escaped(ruleId)}:dry` : escaped(ruleId);
}

function sameQuestion(a: WindowQuestion, b: WindowQuestion): boolean {
  return sameList(a.series, b.series) && sameList(a.cooldowns, b.cooldowns);
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

/**
 * The kept answer for the question asked now. Rules may have changed between two deliveries of a message: what was
 * asked then is answered as then, what was not asked then had not seen anything.
 */
export function answerAgain(asked: WindowQuestion, kept: WindowQuestion, answer: AdvanceAnswer): AdvanceAnswer {
  if (sameQuestion(asked, kept)) return answer;
  return {
    before: asked.series.map((name) => answer.before[kept.series.indexOf(name)] ?? NO_TOTALS),
    duplicates: answer.duplicates,
    cooling: asked.cooldowns.map((name) => answer.cooling[kept.cooldowns.indexOf(name)] ?? null),
  };
}
