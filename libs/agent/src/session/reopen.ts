import type { ToolResult, ToolUseBlock } from '../core/message.ts';
import type { AgentSession } from './agent-session.ts';

/** State of one call after a crash. */
export type UnfinishedCall =
  | { readonly kind: 'ended'; readonly call: ToolUseBlock; readonly result: ToolResult }
  /** It may have happened completely or in part. */
  | { readonly kind: 'started'; readonly call: ToolUseBlock }
  | { readonly kind: 'planned'; readonly call: ToolUseBlock };

/** The calls of a loaded session without a result in the conversation, with their state in the journal. */
export function unfinishedCalls(session: AgentSession): readonly UnfinishedCall[] {
  const started = new Set<string>();
  const ended = new Map<string, ToolResult>();
  for (const entry of session.loadedEntries) {
    if (entry.type === 'tool-started') started.add(entry.toolUseId);
    if (entry.type === 'tool-ended') ended.set(entry.toolUseId, entry.result);
  }
  return session.openCalls().map((call): UnfinishedCall => {
    const result = ended.get(call.id);
    if (result !== undefined) return { kind: 'ended', call, result };
    return { kind: started.has(call.id) ? 'started' : 'planned', call };
  });
}

/** Whether the last turn began and did not end. */
export function hasUnfinishedTurn(session: AgentSession): boolean {
  const last = session.loadedEntries.findLast(({ type }) => type === 'turn-started' || type === 'turn-ended');
  return last?.type === 'turn-started';
}

/** Number of turns begun. */
export function turnsOf(session: AgentSession): number {
  const last = session.loadedEntries.findLast(({ type }) => type === 'turn-started');
  return last?.type === 'turn-started' ? last.turn : 0;
}
