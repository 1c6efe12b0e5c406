import type { Client } from '@agentlens/client';
import { usd } from '../output/format.ts';
import { type Tone, toneOf } from '../output/style.ts';
import { eventText } from './event-text.ts';

type StreamFrame = ReturnType<Client['openStream']> extends AsyncGenerator<infer Frame> ? Frame : never;
/** What a stream carries beside the signs of its own life. */
export type FactFrame = Exclude<StreamFrame, { readonly event: 'heartbeat' | 'dropped' | 'closed' }>;

/** What is followed unless kinds are chosen. */
export const TAILED_KINDS = [
  'event',
  'alert',
  'alert_changed',
  'decision',
  'delivery',
  'order',
  'breaker',
  'rule',
] as const;

/** What happened, in one line for people. The text is still as others wrote it. */
export function frameLine(frame: FactFrame): { readonly text: string; readonly tone: Tone | undefined } {
  switch (frame.event) {
    case 'event': {
      const { agentId, isError } = frame.data;
      return { text: `${agentId}  ${eventText(frame.data)}`, tone: isError ? 'bad' : 'quiet' };
    }
    case 'session_update': {
      const { agentId, id, runStatus, totalCostUsd } = frame.data;
      return { text: `${agentId}  ${id} ${runStatus} ${usd(totalCostUsd)}`, tone: toneOf(runStatus) };
    }
    case 'alert': {
      const { agentId, name, message, dryRun } = frame.data;
      const fires = dryRun ? 'would fire' : 'fires';
      return { text: `${agentId}  "${name}" ${fires}: ${message}`, tone: dryRun ? 'quiet' : 'warning' };
    }
    case 'alert_changed': {
      const { agentId, status, title, id, decidedBy } = frame.data;
      const by = decidedBy === undefined ? '' : ` by ${decidedBy}`;
      return { text: `${agentId}  ${status}${by}: ${title} (${id})`, tone: toneOf(status) };
    }
    case 'decision': {
      const { agentId, verdict, toolName, phase, message } = frame.data;
      return { text: `${agentId}  ${verdict} ${toolName ?? phase}: ${message}`, tone: toneOf(verdict) };
    }
    case 'delivery': {
      const { agentId, actionType, result, detail } = frame.data;
      const why = detail === undefined ? '' : `: ${detail}`;
      return { text: `${agentId}  ${actionType} ${result}${why}`, tone: toneOf(result) };
    }
    case 'order': {
      const { scope, scopeId, state, by, reason } = frame.data;
      const why = reason === '' ? '' : `: ${reason}`;
      return { text: `${scope} ${scopeId} is ${state}, by ${by}${why}`, tone: toneOf(state) };
    }
    case 'breaker': {
      const { agentId, scope, scopeId, state } = frame.data;
      const why = state.kind === 'closed' ? '' : `: ${state.reason}`;
      return { text: `${agentId}  breaker of ${scope} ${scopeId} is ${state.kind}${why}`, tone: toneOf(state.kind) };
    }
    case 'budget': {
      const { budget, scopeId, spentUsd, share } = frame.data;
      const text = `budget "${budget.name}" of ${scopeId}: ${usd(spentUsd)} of ${usd(budget.limitUsd)} are spent`;
      return { text, tone: share < 1 ? 'warning' : 'bad' };
    }
    case 'audit': {
      const { kind, targetId, actor } = frame.data;
      return { text: `${kind} ${targetId}, by ${actor?.person ?? actor?.keyName ?? 'the platform'}`, tone: undefined };
    }
    case 'rule':
      return { text: 'the rules of the tenant changed', tone: undefined };
  }
}
