import type { Now } from '../api/model.ts';
import { counted } from '../figures/figures.ts';
import { projectionOf } from '../spend/projection.ts';

/** One fact of the sentence: its subject is a link. */
interface Fact {
  readonly subject: string;
  readonly rest: string;
  readonly to: string;
  readonly tone: 'bad' | 'warn';
}

/** The worst two facts, and that the rest is quiet. */
export function situation(now: Now, atMs: number): { readonly facts: readonly Fact[]; readonly rest: string } {
  const facts = [
    ...budgetFacts(now, atMs),
    ...breakerFacts(now),
    ...waitingFacts(now),
    ...alertFacts(now),
    ...heldFacts(now),
  ].slice(0, 2);
  const runs = now.running.reduce((sum, one) => sum + one.runs, 0);
  const running = runs === 0 ? 'no run is under way' : `${counted(runs, 'run')} under way`;
  return {
    facts,
    rest:
      facts.length === 0 ? `${running[0]?.toUpperCase()}${running.slice(1)}.` : `Everything else is quiet: ${running}.`,
  };
}

function budgetFacts(now: Now, atMs: number): Fact[] {
  return now.budgets.flatMap(({ budget, pots }): Fact[] => {
    const pot = pots[0];
    if (pot === undefined) return [];
    const subject = budget.scope === 'tenant' ? budget.name : pot.scopeId;
    if (pot.remainingUsd <= 0) return [{ subject, rest: 'has spent its budget', to: '/spend', tone: 'bad' }];
    const { spentAtMs } = projectionOf(budget, pot, atMs);
    if (spentAtMs === undefined) return [];
    return [
      {
        subject,
        rest: `will have spent its budget in ${inWords(spentAtMs - atMs)}`,
        to: '/spend',
        tone: 'bad',
      },
    ];
  });
}

const MOST_MINUTES = 90;

function inWords(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  if (minutes <= MOST_MINUTES) return counted(minutes, 'minute');
  const hours = Math.round(minutes / 60);
  return hours <= 48 ? counted(hours, 'hour') : counted(Math.round(hours / 24), 'day');
}

function breakerFacts(now: Now): Fact[] {
  const [first] = now.openBreakers;
  if (first === undefined) return [];
  const many = now.openBreakers.length;
  return [
    {
      subject: many === 1 ? `the breaker of ${first.agentId}` : `${many} breakers`,
      rest: many === 1 ? 'is open' : 'are open',
      to: '/breakers',
      tone: 'bad',
    },
  ];
}

function waitingFacts(now: Now): Fact[] {
  const waiting = now.approvals.length;
  if (waiting === 0) return [];
  return [
    {
      subject: counted(waiting, 'call'),
      rest: waiting === 1 ? 'waits for you' : 'wait for you',
      to: '/approvals',
      tone: 'warn',
    },
  ];
}

function alertFacts(now: Now): Fact[] {
  if (now.openAlerts === 0) return [];
  return [
    {
      subject: counted(now.openAlerts, 'alert'),
      rest: now.openAlerts === 1 ? 'was not looked at' : 'were not looked at',
      to: '/alerts',
      tone: 'warn',
    },
  ];
}

function heldFacts(now: Now): Fact[] {
  const paused = now.pausedAgents.length;
  if (paused === 0) return [];
  return [
    {
      subject: paused === 1 ? (now.pausedAgents[0]?.id ?? '') : `${paused} agents`,
      rest: paused === 1 ? 'is paused' : 'are paused',
      to: '/agents',
      tone: 'warn',
    },
  ];
}
