import { type CooldownClaim, type CooldownHolder, cooling } from '../ports/cooldown-store.ts';
import type { AdvanceAnswer, AdvanceRequest, Series, Totals } from '../ports/window-store.ts';
import { seriesKey, spans } from '../windows/span.ts';
import { NO_TOTALS, withValue } from '../windows/totals.ts';

interface Added {
  readonly key: string;
  readonly atMs: number;
  readonly value: number;
}

/** Window store that keeps every value and recounts. For specs of the evaluation only. */
export class RecountingStore {
  readonly #added: Added[] = [];
  readonly #seen = new Set<string>();
  readonly #answers = new Map<string, AdvanceAnswer>();
  readonly #holders = new Map<string, CooldownHolder>();

  advance(request: AdvanceRequest): AdvanceAnswer {
    const who = `${request.tenantId}:${request.agentId}`;
    const inbox = `${who}:${request.messageId}`;
    const known = this.#answers.get(inbox);
    if (known !== undefined) return known;
    const duplicates = request.retryable.filter(({ id }) => this.#seen.has(`${who}:${id}`)).map(({ event }) => event);
    const answer: AdvanceAnswer = {
      before: request.series.map((series) => this.#totals(who, series, request.nowMs)),
      duplicates,
      cooling: request.cooldowns.map(({ ruleId, dryRun }) => this.#holders.get(`${who}:${ruleId}:${dryRun}`) ?? null),
    };
    for (const { id } of request.retryable) this.#seen.add(`${who}:${id}`);
    for (const { series, event, atMs, value } of request.increments) {
      const target = request.series[series];
      if (target !== undefined && !duplicates.includes(event)) {
        this.#added.push({ key: `${who}:${seriesKey(target)}`, atMs, value });
      }
    }
    this.#answers.set(inbox, answer);
    return answer;
  }

  claim(claim: CooldownClaim): boolean {
    const key = `${claim.tenantId}:${claim.agentId}:${claim.ruleId}:${claim.dryRun}`;
    const held = this.#holders.get(key);
    if (held?.triggerId === claim.triggerId) return true;
    if (held !== undefined && cooling(held, claim.atMs, claim.cooldownMs)) return false;
    if (held === undefined || held.atMs < claim.atMs) this.#holders.set(key, claim);
    return true;
  }

  #totals(who: string, series: Series, nowMs: number): Totals {
    const key = `${who}:${seriesKey(series)}`;
    return this.#added
      .filter((added) => added.key === key && spans(series.span, added.atMs, nowMs))
      .reduce((totals, { atMs, value }) => withValue(totals, series.shape, atMs, value), NO_TOTALS);
  }
}
