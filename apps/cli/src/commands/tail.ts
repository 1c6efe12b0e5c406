import type { Client } from '@agentlens/client';
import type { DefineCommand } from '../context.ts';
import { type Tone, toneOf } from '../output/style.ts';
import { costOf, plainText, timeOfDay, usd } from '../output/table.ts';
import { eventText } from './events.ts';

type StreamFrame = ReturnType<Client['openStream']> extends AsyncGenerator<infer Frame> ? Frame : never;
/** A stream frame that carries a fact, not stream status. */
type FactFrame = Exclude<StreamFrame, { readonly event: 'heartbeat' | 'dropped' | 'closed' }>;

/** Kinds followed by default. */
const TAILED_KINDS = ['event', 'alert', 'alert_changed', 'decision', 'delivery', 'order', 'breaker', 'rule'] as const;

/** One-line summary of a fact, with agent-controlled text not yet escaped. */
function frameLine(frame: FactFrame): { readonly text: string; readonly tone: Tone | undefined } {
  switch (frame.event) {
    case 'event': {
      const { agentId, isError } = frame.data;
      return { text: `${agentId}  ${eventText(frame.data)}`, tone: isError ? 'bad' : 'quiet' };
    }
    case 'session_update': {
      const { agentId, id, runStatus, totalCostUsd, unpricedCount } = frame.data;
      return { text: `${agentId}  ${id} ${runStatus} ${costOf(totalCostUsd, unpricedCount)}`, tone: toneOf(runStatus) };
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
      const text = `budget "${budget.name}" of ${scopeId}: spent ${usd(spentUsd)} of ${usd(budget.limitUsd)}`;
      return { text, tone: share < 1 ? 'warning' : 'bad' };
    }
    case 'audit': {
      const { kind, targetId, actor } = frame.data;
      return { text: `${kind} ${targetId}, by ${actor?.person ?? actor?.keyName ?? 'the platform'}`, tone: undefined };
    }
    case 'rule':
      return { text: "the tenant's rules changed", tone: undefined };
  }
}

const MAX_WAITING = 1_000;

/** Recognizes calls that are asked again while they wait for the same approval, so that each is printed once. */
class WaitingCalls {
  readonly #approvals = new Set<string>();

  isAskedAgain({ cause, approvalId }: Extract<FactFrame, { event: 'decision' }>['data']): boolean {
    if (approvalId === undefined || cause.kind !== 'HITL_PENDING') return false;
    if (this.#approvals.has(approvalId)) return true;
    this.#approvals.add(approvalId);
    const [oldest] = this.#approvals;
    if (this.#approvals.size > MAX_WAITING && oldest !== undefined) this.#approvals.delete(oldest);
    return false;
  }
}

export const tail: DefineCommand = (command, context) => {
  command
    .option('--agent <id>', 'only facts about this agent')
    .option('--run <id>', 'only facts about this run')
    .option('--kinds <names>', 'kinds to follow', TAILED_KINDS.join(','))
    .option('--type <names>', 'only events of these types, such as tool_error; comma-separated')
    .action(async ({ agent, run, kinds, type }) => {
      const { output, host } = context;
      const client = await context.connect();
      // Streams reconnect by themselves, so check the key before opening one.
      await client.getMe();
      const query = { agentId: agent, sessionId: run, kinds, eventType: type };
      const waiting = new WaitingCalls();
      for await (const frame of client.openStream({ query, signal: host.signal })) {
        if (frame.event === 'heartbeat') continue;
        if (frame.event === 'decision' && waiting.isAskedAgain(frame.data)) continue;
        if (frame.event === 'dropped') {
          output.note(`Missed ${frame.data.count} messages: this terminal is too slow.`);
        } else if (frame.event === 'closed') {
          output.note(`The platform closed the stream: ${plainText(frame.data.reason)}`);
        } else {
          const { text, tone } = frameLine(frame);
          output.printItem(frame, () => {
            const head = [output.paint('quiet', timeOfDay(host.nowMs())), output.paint(tone, frame.event.padEnd(14))];
            return [...head, plainText(text)].join('  ');
          });
        }
      }
    });
};
