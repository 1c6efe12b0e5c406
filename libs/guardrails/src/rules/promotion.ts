import { type GuardrailRule, HOUR_MS, type ProblemDetail, type PromotionGuard } from '@agentlens/contracts';

/** Applies to promotions of rules without a guard of their own. */
const DEFAULT_GUARD: PromotionGuard = { minAsked: 200, minHours: 24, maxStopRate: 0.02, maxBypassRate: 0.01 };

/** Rules on events are not asked about calls: only their time in shadow counts. */
export function guardOf({ guard = DEFAULT_GUARD }: Pick<GuardrailRule, 'guard'>, decides: boolean): PromotionGuard {
  if (decides) return guard;
  return guard.minHours === undefined ? {} : { minHours: guard.minHours };
}

interface CountedCalls {
  readonly asked: number;
  readonly stopped: number;
  readonly wouldStop: number;
  readonly bypassed: number;
  /** Of the stops, those whose outcome is known, and the harmless ones among them. */
  readonly judged: number;
  readonly harmless: number;
}

/** What a rule did since its meaning last changed. */
export interface RuleFigures extends CountedCalls {
  readonly enforced: number;
  /** Unix ms. */
  readonly sinceMs: number;
}

/** Shares of the asked calls; 0 if none was asked. */
interface RuleRates {
  readonly stopRate: number;
  readonly bypassRate: number;
  /** The share of harmless stops among the judged ones, applied to all stops. Null if none was judged. */
  readonly falseRejectionRate: number | null;
}

export function ratesOf({ asked, stopped, wouldStop, bypassed, judged, harmless }: CountedCalls): RuleRates {
  const stopRate = asked === 0 ? 0 : (stopped + wouldStop) / asked;
  return {
    stopRate,
    bypassRate: asked === 0 ? 0 : bypassed / asked,
    falseRejectionRate: judged === 0 ? (stopRate === 0 ? 0 : null) : (stopRate * harmless) / judged,
  };
}

/** Returns what a guard still requires, each with the value it has; empty if the rule may be promoted. */
export function unmetGuard(guard: PromotionGuard, figures: RuleFigures, nowMs: number): ProblemDetail[] {
  const rates = ratesOf(figures);
  const hours = Math.max(0, nowMs - figures.sinceMs) / HOUR_MS;
  const unmet: ProblemDetail[] = [];
  const atLeast = (field: 'minAsked' | 'minHours', has: number, unit: string, words = shown(has)) => {
    const wanted = guard[field];
    if (wanted !== undefined && has < wanted)
      unmet.push({ path: `guard.${field}`, message: `requires ${wanted} ${unit}, has ${words}` });
  };
  const atMost = (field: 'maxStopRate' | 'maxFalseRejectionRate' | 'maxBypassRate', has: number | null) => {
    const limit = guard[field];
    if (limit === undefined || (has !== null && has <= limit)) return;
    const message = `allows ${percent(limit)} of the calls, has ${has === null ? 'no judged call yet' : percent(has)}`;
    unmet.push({ path: `guard.${field}`, message });
  };
  atLeast('minAsked', figures.asked, 'asked calls');
  atLeast('minHours', hours, 'hours', hours < 1 ? `${Math.floor(hours * 60)} minutes` : shown(hours));
  atMost('maxStopRate', rates.stopRate);
  atMost('maxFalseRejectionRate', rates.falseRejectionRate);
  atMost('maxBypassRate', rates.bypassRate);
  return unmet;
}

/** Three digits at most: `0.0213` is "2.13 %". */
export function percent(rate: number): string {
  return `${shown(rate * 100)} %`;
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}
