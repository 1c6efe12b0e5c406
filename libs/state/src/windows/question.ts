import type { AdvanceAnswer, AdvanceRequest, Series, SeriesShape, WindowSpan } from '@agentlens/guardrails';
import { NO_TOTALS, oncePer } from '@agentlens/guardrails/ports';

const SPECIAL = /[%{}:]/;

/**
 * Escapes client-chosen text for use in a key. It cannot contain a separator or a Redis hash tag, so keys never
 * collide.
 */
export function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(/[%{}:]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

/**
 * Unique name of a series, the same in every store: `cost_usd:10m:sum`, `error_count:run:<run id>:sum`,
 * `x:day:2026-11-21:spread`.
 */
export const seriesName = oncePer(
  ({ metric, span, shape }: Series) => `${escaped(metric)}:${spanName(span)}:${LAYOUTS[shape]}`,
);

/** Version of each shape's layout. The shape comes last in the name, because replies are parsed by it. */
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

/** Names of the series and cooldowns of a request, used to match a stored answer to a later request. */
export interface WindowQuestion {
  readonly series: readonly string[];
  readonly cooldowns: readonly string[];
}

export function questionOf(request: AdvanceRequest): WindowQuestion {
  return { series: request.series.map(seriesName), cooldowns: cooldownNames(request.cooldowns) };
}

/** Cached, because most messages of a tenant have the same list of rules. */
const cooldownNames = oncePer((cooldowns: AdvanceRequest['cooldowns']) => cooldowns.map(cooldownName));

/** Unique name of an agent's cooldown, the same in every store. Dry runs have their own. */
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
 * Maps a stored answer to the current question. Rules may have changed between two deliveries of a message: series and
 * cooldowns that were in the first question keep their answer, new ones are empty.
 */
export function answerAgain(asked: WindowQuestion, kept: WindowQuestion, answer: AdvanceAnswer): AdvanceAnswer {
  if (sameQuestion(asked, kept)) return answer;
  return {
    before: asked.series.map((name) => answer.before[kept.series.indexOf(name)] ?? NO_TOTALS),
    duplicates: answer.duplicates,
    cooling: asked.cooldowns.map((name) => answer.cooling[kept.cooldowns.indexOf(name)] ?? null),
  };
}
