import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Now } from '../api/model.ts';
import { count, counted, duration, money, percent } from '../figures/figures.ts';
import { projectionOf } from '../spend/projection.ts';
import { shortClock } from '../time/zone.ts';

/** One part of the headline. Its subject is a link. */
export interface Fact {
  readonly kind:
    | 'approvals'
    | 'changed-rules'
    | 'spend'
    | 'loops'
    | 'unanswerable'
    | 'breakers'
    | 'killed'
    | 'paused'
    | 'spent'
    | 'nearly-spent'
    | 'errors'
    | 'deliveries'
    | 'behind'
    | 'bypassed'
    | 'alerts';
  readonly subject: string;
  readonly rest: string;
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly tone: 'bad' | 'warn';
}

export interface Situation {
  /** The most urgent facts, one of each kind. */
  readonly facts: readonly Fact[];
  /** The less urgent ones, shown on request. */
  readonly others: readonly Fact[];
  /** Whether nothing needs attention. */
  readonly quiet: boolean;
  readonly running: string;
}

const MAX_FACTS = 4;
/** A consumer that keeps up has its oldest message for less than this. */
const BEHIND_MS = 10_000;
const MAX_MINUTES = 90;

/**
 * What needs attention, most urgent first: what expires, what differs from before, what stops agents, what has run out,
 * what fails. Facts of one kind are folded into one.
 */
export function situation(now: Now, atMs: number): Situation {
  const facts = [
    approvals(now, atMs),
    changedRules(now),
    spend(now),
    errors(now),
    loops(now),
    breakers(now),
    held(now, 'killed'),
    held(now, 'paused'),
    spent(now),
    nearlySpent(now, atMs),
    deliveries(now),
    behind(now),
    bypassed(now),
    alerts(now),
    unanswerable(now),
  ].filter((fact) => fact !== undefined);
  const runs = now.running.reduce((sum, one) => sum + one.runs, 0);
  return {
    facts: facts.slice(0, MAX_FACTS),
    others: facts.slice(MAX_FACTS),
    quiet: facts.length === 0,
    running: runs === 0 ? 'No run in progress.' : `${counted(runs, 'run')} in progress.`,
  };
}

type MaybeFact = Fact | undefined;

function approvals({ approvals: waiting }: Now, atMs: number): MaybeFact {
  if (waiting.length === 0) return undefined;
  const soonest = Math.min(
    ...waiting.map(({ expiresAt }) => (expiresAt === undefined ? Infinity : Date.parse(expiresAt))),
  );
  const left = soonest - atMs;
  const one = waiting.length === 1;
  const wait = one ? 'needs approval' : 'need approval';
  const expiry = `${one ? 'and' : 'the first'} expires ${left <= 0 ? 'now' : `in ${inWords(left)}`}`;
  return {
    kind: 'approvals',
    subject: counted(waiting.length, 'call'),
    rest: !Number.isFinite(soonest) ? wait : one ? `${wait} ${expiry}` : `${wait}, ${expiry}`,
    to: '/approvals',
    tone: left <= 5 * 60_000 ? 'bad' : 'warn',
  };
}

/** `"Invoices above 50 EUR" stops 20 of 20 calls since it changed at 23:35 (v2 by Ada, just after deploy 3.1.0)`. */
function changedRules({ unusual: { changedRules: changed } }: Now): MaybeFact {
  const [first] = changed;
  if (first === undefined) return undefined;
  const { ruleId, name, version, changedAt, changedBy, asked, stopped, askedBefore, stoppedBefore, deploy } = first;
  if (changed.length > 1)
    return {
      ...{ kind: 'changed-rules', tone: 'bad', to: '/guardrails' },
      ...{ subject: `${changed.length} rules`, rest: 'stop much more since they changed' },
    };
  const before = askedBefore === 0 ? '' : `, before ${percent(stoppedBefore / askedBefore)}`;
  // Without the id of the key.
  const by = changedBy === null ? '' : ` by ${visibleName(changedBy.replace(/ \([^()]+\)$/, ''))}`;
  const after = deploy === undefined ? '' : `, just after the deploy of ${visibleName(deploy)}`;
  return {
    ...{ kind: 'changed-rules', tone: 'bad', to: `/guardrails/${encodeURIComponent(ruleId)}` },
    subject: `“${name}”`,
    rest: `stops ${percent(stopped / asked)} of its calls since ${shortClock(changedAt)}${before} (v${version}${by}${after})`,
  };
}

function spend({ unusual: { spend: unusual } }: Now): MaybeFact {
  if (unusual === null) return undefined;
  const { usd, usualUsd } = unusual;
  return {
    kind: 'spend',
    subject: `${money(usd)} in the last hour`,
    rest: `is ${moreThanUsual(usd, usualUsd, unusual.of, '$0')}`,
    to: '/spend',
    search: { range: '1h' },
    tone: 'bad',
  };
}

function errors({ unusual: { errors: unusual } }: Now): MaybeFact {
  if (unusual === null) return undefined;
  const { errors: found, usualErrors } = unusual;
  return {
    kind: 'errors',
    subject: `${count(found)} errors in the last hour`,
    rest: `are ${moreThanUsual(found, usualErrors, unusual.of, '0')}`,
    to: '/runs',
    search: { has: 'errors', range: '1h' },
    tone: 'bad',
  };
}

/** `45 times the hourly mean of the last day`. What is usually nothing has no multiple. */
export function moreThanUsual(value: number, usual: number, of: 'this hour' | 'last day', zero: string): string {
  const name = of === 'this hour' ? 'usual at this hour' : 'hourly mean of the last day';
  return usual === 0 ? `more than the ${name}, ${zero}` : `${Math.round(value / usual)} times the ${name}`;
}

function loops({ unusual: { loops: found } }: Now): MaybeFact {
  const [first] = found;
  if (first === undefined) return undefined;
  if (found.length > 1)
    return { kind: 'loops', subject: `${found.length} runs`, rest: 'repeat one call', to: '/runs', tone: 'bad' };
  return {
    kind: 'loops',
    subject: `a run of ${first.agentId}`,
    rest: `repeats one call of ${visibleName(first.toolName)}, ${count(first.times)} times in the last hour`,
    to: `/runs/${encodeURIComponent(first.runId)}`,
    tone: 'bad',
  };
}

function unanswerable({ unusual: { unanswerable: approvals } }: Now): MaybeFact {
  if (approvals === 0) return undefined;
  const one = approvals === 1;
  return {
    kind: 'unanswerable',
    subject: counted(approvals, 'approval'),
    rest: `${one ? 'is' : 'are'} of a run that has stopped and ${one ? 'has' : 'have'} no effect unless it is resumed`,
    to: '/approvals',
    tone: 'warn',
  };
}

function breakers({ openBreakers }: Now): MaybeFact {
  const [first] = openBreakers;
  if (first === undefined) return undefined;
  const many = openBreakers.length;
  return {
    kind: 'breakers',
    subject: many === 1 ? `the breaker of ${first.agentId}` : `${many} breakers`,
    rest: many === 1 ? 'is open' : 'are open',
    to: '/breakers',
    tone: 'bad',
  };
}

function held({ orders, pausedAgents }: Now, state: 'killed' | 'paused'): MaybeFact {
  const names = orders
    .filter((order) => order.state === state)
    .map(({ scope, scopeId }) => (scope === 'tenant' ? 'every agent' : scope === 'run' ? `run ${scopeId}` : scopeId));
  // Agents that a person paused are among the orders.
  if (state === 'paused')
    names.push(...pausedAgents.filter(({ control }) => control.source === 'rule').map(({ id }) => id));
  const [first] = names;
  if (first === undefined) return undefined;
  const runs = names.filter((name) => name.startsWith('run ')).length;
  const word = runs === names.length ? 'runs' : runs === 0 ? 'agents' : 'agents and runs';
  return {
    kind: state,
    subject: names.includes('every agent') ? 'every agent' : names.length === 1 ? first : `${names.length} ${word}`,
    rest: names.length === 1 || names.includes('every agent') ? `is ${state}` : `are ${state}`,
    to: runs === names.length && state === 'killed' ? '/runs' : '/agents',
    ...(runs === names.length && state === 'killed' ? { search: { status: 'killed' } } : {}),
    tone: state === 'killed' ? 'bad' : 'warn',
  };
}

function spent({ budgets }: Now): MaybeFact {
  const all = budgets.filter(({ pots }) => pots.some(({ remainingUsd }) => remainingUsd <= 0));
  const [first] = all;
  if (first === undefined) return undefined;
  return {
    kind: 'spent',
    subject: all.length === 1 ? `the budget ${first.budget.name}` : `${all.length} budgets`,
    rest: all.length === 1 ? 'is spent' : 'are spent',
    to: '/spend',
    ...(all.length === 1 ? { search: { budget: first.budget.id } } : {}),
    tone: 'bad',
  };
}

function nearlySpent({ budgets }: Now, atMs: number): MaybeFact {
  const nearly = budgets
    .flatMap(({ budget, pots }) => {
      const ends = pots
        .filter(({ remainingUsd }) => remainingUsd > 0)
        .flatMap((pot) => projectionOf(budget, pot, atMs).spentAtMs ?? []);
      return ends.length === 0 || pots.some(({ remainingUsd }) => remainingUsd <= 0)
        ? []
        : [{ budget, spentAtMs: Math.min(...ends) }];
    })
    .sort((a, b) => a.spentAtMs - b.spentAtMs);
  const [first] = nearly;
  if (first === undefined) return undefined;
  const when = inWords(first.spentAtMs - atMs);
  return {
    kind: 'nearly-spent',
    subject: nearly.length === 1 ? `the budget ${first.budget.name}` : `${nearly.length} budgets`,
    rest: nearly.length === 1 ? `runs out in ${when}` : `run out early, the first in ${when}`,
    to: '/spend',
    ...(nearly.length === 1 ? { search: { budget: first.budget.id } } : {}),
    tone: 'warn',
  };
}

function deliveries({ deliveries: { failed } }: Now): MaybeFact {
  if (failed === 0) return undefined;
  return {
    kind: 'deliveries',
    subject: counted(failed, 'delivery', 'deliveries'),
    rest: 'failed',
    to: '/deliveries',
    search: { result: 'failed' },
    tone: 'warn',
  };
}

const PARTS: Readonly<Record<string, string>> = {
  'run-tracking': 'event storage',
  'guardrail-evaluator': 'rule evaluation',
  'run-tracking-decisions': 'decision storage',
  'action-dispatcher': 'alerts and webhooks',
  'action-dispatcher-breakers': 'alerts of breakers',
  'action-dispatcher-acks': 'acknowledgement of orders',
};

function behind({ lag }: Now): MaybeFact {
  if (lag === null)
    return { kind: 'behind', subject: 'the message broker', rest: 'does not answer', to: '/system', tone: 'bad' };
  const late = lag.filter(({ oldestAgeMs }) => oldestAgeMs >= BEHIND_MS).sort((a, b) => b.oldestAgeMs - a.oldestAgeMs);
  const [first] = late;
  if (first === undefined) return undefined;
  return {
    kind: 'behind',
    subject: PARTS[first.group] ?? first.group,
    rest: `is ${duration(first.oldestAgeMs)} behind`,
    to: '/system',
    tone: 'bad',
  };
}

function bypassed({ pulse }: Now): MaybeFact {
  if (pulse.bypassed === 0) return undefined;
  return {
    kind: 'bypassed',
    subject: counted(pulse.bypassed, 'decision'),
    rest: 'bypassed a rule that could not be evaluated',
    to: '/decisions',
    search: { show: 'bypassed' },
    tone: 'warn',
  };
}

function alerts({ openAlerts }: Now): MaybeFact {
  if (openAlerts === 0) return undefined;
  return {
    kind: 'alerts',
    subject: counted(openAlerts, 'alert'),
    rest: openAlerts === 1 ? 'is open' : 'are open',
    to: '/alerts',
    tone: 'warn',
  };
}

function inWords(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  if (ms < 60_000) return 'under a minute';
  if (minutes <= MAX_MINUTES) return counted(minutes, 'minute');
  const hours = Math.round(minutes / 60);
  return hours <= 48 ? counted(hours, 'hour') : counted(Math.round(hours / 24), 'day');
}
