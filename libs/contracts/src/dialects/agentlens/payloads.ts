import { z } from 'zod';
import { JsonObject } from '../../events.ts';

/** Required text of a payload; long enough for any real name, short enough to be an index key. */
const name = z.string().min(1, 'must not be empty').max(1000, 'must be at most 1000 characters');
/** Call ids pair a call with its answer; the AutoGen plugin sends an empty one where it has none. */
const callId = z.string().max(256, 'must be at most 256 characters');

/** One absurd number would spoil every total it is added to, so quantities are bounded where they come in. */
function quantity(most: number) {
  return z.number().nonnegative('must not be negative').max(most, `must be at most ${most}`);
}
const milliseconds = quantity(1e12);
const count = quantity(1e12);
const usd = quantity(100_000);
const text = z.string();
const optional = {
  name: name.nullish(),
  text: text.nullish(),
  milliseconds: milliseconds.nullish(),
  count: count.nullish(),
  usd: usd.nullish(),
  strings: z.array(z.string()).nullish(),
  object: JsonObject.nullish(),
  flag: z.boolean().nullish(),
};

/** Keys a schema does not name are kept as they came. */
const payload = z.looseObject;

export const SessionStarted = payload({
  agentName: optional.name,
  agentVersion: optional.name,
  mcpClientInfo: optional.object,
  tags: optional.strings,
});

export const SESSION_END_REASONS = ['completed', 'error', 'timeout', 'manual'] as const;

export const SessionEnded = payload({
  reason: z.enum(SESSION_END_REASONS, `must be one of ${SESSION_END_REASONS.join(', ')}`),
  summary: optional.text,
  totalToolCalls: optional.count,
  totalDurationMs: optional.milliseconds,
});

export const ToolCall = payload({ toolName: name, callId, arguments: JsonObject, serverName: optional.name });

export const ToolResponse = payload({
  callId,
  toolName: name,
  durationMs: milliseconds,
  result: z.unknown().optional(),
  isError: optional.flag,
});

export const ToolError = payload({
  callId,
  toolName: name,
  error: text,
  durationMs: milliseconds,
  errorCode: z.union([z.string(), z.number()]).nullish(),
});

/** `role` is open text: plugins send "unknown" where the framework does not say. */
const Message = payload({ role: text, content: z.union([z.string(), z.array(z.unknown())]).nullish() });

export const LlmCall = payload({
  callId,
  provider: optional.name,
  model: name,
  messages: z.array(Message),
  systemPrompt: optional.text,
  parameters: optional.object,
});

const TokenUsage = payload({
  inputTokens: optional.count,
  outputTokens: optional.count,
  totalTokens: optional.count,
  thinkingTokens: optional.count,
  cacheReadTokens: optional.count,
  cacheWriteTokens: optional.count,
});

export const LlmResponse = payload({
  callId,
  provider: optional.name,
  model: name,
  completion: text.nullable(),
  finishReason: text,
  usage: TokenUsage,
  costUsd: optional.usd,
  latencyMs: optional.milliseconds,
});

export const CostTracked = payload({
  provider: optional.name,
  model: name,
  inputTokens: optional.count,
  outputTokens: optional.count,
  totalTokens: optional.count,
  costUsd: optional.usd,
  trigger: optional.text,
}).refine((cost) => cost.costUsd != null || cost.totalTokens != null, {
  path: ['costUsd'],
  message: 'is required where no token counts are given',
});

export const ApprovalRequested = payload({ requestId: name, action: name, params: JsonObject, urgency: text });
export const ApprovalDecided = payload({ requestId: name, action: name, decidedBy: name, reason: optional.text });

export const FormSubmitted = payload({ submissionId: name, formId: name, fieldCount: count });
export const FormCompleted = payload({
  submissionId: name,
  formId: name,
  completedBy: name,
  durationMs: milliseconds,
});
export const FormExpired = payload({ submissionId: name, formId: name, expiredAfterMs: milliseconds });

export const AlertTriggered = payload({
  alertRuleId: name,
  alertName: name,
  condition: text,
  currentValue: z.number(),
  threshold: z.number(),
  message: text,
});
export const AlertResolved = payload({ alertRuleId: name, alertName: name, resolvedBy: optional.name });

export const Retrieval = payload({
  query: text,
  retrieverName: optional.name,
  topK: optional.count,
  resultCount: optional.count,
  durationMs: optional.milliseconds,
});
export const Embedding = payload({
  model: name,
  inputCount: count,
  dimensions: optional.count,
  durationMs: optional.milliseconds,
});
export const ChainStep = payload({ name, stepType: optional.text, durationMs: optional.milliseconds });
export const Custom = payload({ type: name, data: JsonObject });
