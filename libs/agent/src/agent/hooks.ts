import type { ErrorInfo } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import type { Json } from '../core/json.ts';
import type { TokenUsage } from '../core/token-usage.ts';

/** Called as events happen. An error in a hook becomes a warning and has no other effect. */
export interface AgentHooks {
  onStepStart?(step: { readonly step: number; readonly sessionId: string }): void;
  /** A piece of text, or the usage of a call. */
  onModelTokens?(tokens: { readonly text: string } | { readonly usage: TokenUsage }): void;
  onToolCall?(toolId: string, input: Json): void;
  onError?(error: ErrorInfo): void;
}

export function callHooks(hooks: AgentHooks, event: AgentEvent): void {
  switch (event.type) {
    case 'step-start':
      hooks.onStepStart?.({ step: event.step, sessionId: event.sessionId });
      break;
    case 'text-delta':
      hooks.onModelTokens?.({ text: event.text });
      break;
    case 'model-end':
      if (event.error === undefined) hooks.onModelTokens?.({ usage: event.usage });
      break;
    case 'tool-start':
      hooks.onToolCall?.(event.name, event.input);
      break;
    case 'error':
      hooks.onError?.(event.error);
      break;
    default:
  }
}
