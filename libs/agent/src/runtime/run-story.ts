import type { DriverEvent } from '../core/agent-event.ts';
import type { OutputChunk } from '../core/output-chunk.ts';

export interface StoryFact {
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * The platform's fact for an event that its own hooks do not report: refusals and human answers, safety, prompts,
 * memory, retries and sub-agents. Null for everything else.
 */
export function storyFact(event: OutputChunk | DriverEvent): StoryFact | null {
  switch (event.type) {
    case 'permission-response': {
      const { decision, by, toolName: name, toolUseId: callId, ruleId } = event;
      if (decision === 'allow' && by !== 'human') return null;
      return { kind: 'permission.decided', data: { decision, by, tool: { name }, callId, ruleId } };
    }
    case 'safety': {
      const { phase, rule, action, inputHash, toolName } = event;
      const tool = toolName === undefined ? {} : { tool: { name: toolName } };
      return { kind: 'safety.decided', data: { phase, rule, action, inputHash, ...tool } };
    }
    case 'prompt-rendered': {
      const { templateId, version, hash } = event;
      return { kind: 'prompt.rendered', data: { templateId, version, hash } };
    }
    case 'memory-write': {
      const { store, key, dropped } = event;
      return { kind: 'memory.written', data: { store, key, dropped } };
    }
    case 'retry': {
      const { what, attempt, waitMs, error } = event;
      return { kind: 'call.retried', data: { what, attempt, waitMs, code: error.code } };
    }
    case 'subagent-spawned': {
      const { childSessionId, agentType } = event;
      return { kind: 'subagent.started', data: { childSessionId, agentType } };
    }
    case 'subagent-complete': {
      const { childSessionId, success, usage } = event;
      return { kind: 'subagent.ended', data: { childSessionId, success, tokens: usage.total } };
    }
    default:
      return null;
  }
}
