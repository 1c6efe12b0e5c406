import type { ToolUseBlock } from '../core/message.ts';
import type { ToolResult } from '../core/tool-result.ts';
import type { AgentSession } from './agent-session.ts';

/** What a crash left of one call. */
export type UnfinishedCall =
  | { readonly kind: 'ended'; readonly call: ToolUseBlock; readonly result: ToolResult }
  /** It may have happened, or a part of it. */
  | { readonly kind: 'started'; readonly call: ToolUseBlock }
  | { readonly kind: 'planned'; readonly call: ToolUseBlock };

/** The calls of a loaded session that have no result in the conversation, with what the journal says of each. */
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

/** The last turn began and did not end. */
export function hasUnfinishedTurn(session: AgentSession): boolean {
  const last = session.loadedEntries.findLast(({ type }) => type === 'turn-started' || type === 'turn-ended');
  return last?.type === 'turn-started';
}

/** Turns that were begun. */
export function turnsOf(session: AgentSession): number {
  const last = session.loadedEntries.findLast(({ type }) => type === 'turn-started');
  return last?.type === 'turn-started' ? last.turn : 0;
}
