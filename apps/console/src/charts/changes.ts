import type { AuditEntry } from '../api/model.ts';
import type { Marker } from './data.ts';

const CHANGE_WORDS: Readonly<Record<string, string>> = {
  'rule.created': 'Rule created',
  'rule.changed': 'Rule changed',
  'rule.deleted': 'Rule deleted',
  'breaker_limits.set': 'Breaker limits changed',
  'tree_limits.set': 'Limits of run trees changed',
  'budget.created': 'Budget created',
  'budget.changed': 'Budget changed',
  'settings.changed': 'Settings changed',
};

type Change = Pick<AuditEntry, 'kind' | 'target' | 'targetId' | 'changedAt' | 'before' | 'after'>;

/** Markers of changes; with an agent, only of those that can concern it. */
export function changeMarkers(changes: readonly Change[], agentId: string | undefined): readonly Marker[] {
  return changes
    .filter((change) => agentId === undefined || isAboutAgent(change, agentId))
    .map(({ kind, target, targetId, changedAt, after, before }) => {
      const name = (after ?? before)?.name;
      return {
        at: Date.parse(changedAt),
        label: `${CHANGE_WORDS[kind] ?? kind.replaceAll(/[._]/g, ' ')}${typeof name === 'string' ? `: ${name}` : ''}`,
        href: target === 'rule' ? `guardrails/${encodeURIComponent(targetId)}` : 'audit',
      };
    });
}

/** False for a change that names another agent. A rule that selects agents by their tags may be about any. */
function isAboutAgent({ target, targetId, before, after }: Change, agentId: string): boolean {
  if (target === 'breaker_limits') return !targetId.startsWith('agent:') || targetId === `agent:${agentId}`;
  const states = [before, after].filter((state) => state !== null);
  if (target === 'budget') return states.every(({ scope }) => scope !== 'agent') || names(states, 'scopeId', agentId);
  return names(states, 'agentId', agentId);
}

function names(states: readonly Readonly<Record<string, unknown>>[], field: string, agentId: string): boolean {
  return states.length === 0 || states.some((state) => typeof state[field] !== 'string' || state[field] === agentId);
}
