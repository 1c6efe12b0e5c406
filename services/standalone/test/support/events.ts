/** An event of a failed call, as agents send it. */
export function failure(agentId: string, sessionId: string, more: Record<string, unknown> = {}) {
  return {
    sessionId,
    agentId,
    eventType: 'tool_error',
    severity: 'error',
    payload: { callId: 'c1', toolName: 'search', error: 'timeout', durationMs: 900 },
    ...more,
  };
}

export function success(agentId: string, sessionId: string, more: Record<string, unknown> = {}) {
  return {
    sessionId,
    agentId,
    eventType: 'tool_response',
    payload: { callId: 'c1', toolName: 'search', durationMs: 90, result: 'fine' },
    ...more,
  };
}

export function spending(agentId: string, sessionId: string, costUsd: number) {
  return {
    sessionId,
    agentId,
    eventType: 'llm_response',
    payload: {
      callId: 'l1',
      provider: 'openai',
      model: 'gpt-4o',
      completion: 'done',
      finishReason: 'stop',
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
      costUsd,
      latencyMs: 400,
    },
  };
}

export function pauseRule(more: Record<string, unknown> = {}) {
  return {
    name: 'Too many errors',
    conditionType: 'error_rate_threshold',
    conditionConfig: { threshold: 50, windowMinutes: 5 },
    actionType: 'pause_agent',
    actionConfig: { message: 'Paused by the rule' },
    ...more,
  };
}
