import type { AdvanceAnswer, AdvanceRequest } from '@agentlens/guardrails';
import { NO_TOTALS, oncePer } from '@agentlens/guardrails/ports';
import { escaped } from '../escaped.ts';
import { seriesName } from './series-name.ts';

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
