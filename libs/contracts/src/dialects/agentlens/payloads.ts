import { z } from 'zod';
import { JsonObject } from '../../events.ts';
import { field, isObject, nullish, payload } from './payload-schema.ts';

/** Required text of a payload: long enough for any real name, short enough for an index key. */
const name = field(
  z.string().min(1, 'must not be empty').max(1000, 'must be at most 1000 characters'),
  (value) => typeof value === 'string' && value.length > 0 && value.length <= 1000,
);
/** Call ids pair a call with its result. The AutoGen plugin sends an empty one if it has none. */
const callId = field(
  z.string().max(256, 'must be at most 256 characters'),
  (value) => typeof value === 'string' && value.length <= 256,
);

/** Bounded quantity, because one absurd number would corrupt every total it is added to. */
function quantity(most: number) {
  return field(
    z.number().nonnegative('must not be negative').max(most, `must be at most ${most}`),
    (value) => typeof value === 'number' && value >= 0 && value <= most,
  );
}
const milliseconds = quantity(1e12);
const count = quantity(1e12);
const usd = quantity(100_000);
const text = field(z.string(), (value) => typeof value === 'string');
const object = field(JsonObject, isObject);
const number = field(z.number(), Number.isFinite);
const anything = field(z.unknown().optional(), () => true);
const optional = {
  name: nullish(name),
  text: nullish(text),
  milliseconds: nullish(milliseconds),
  count: nullish(count),
  usd: nullish(usd),
  strings: nullish(field(z.array(z.string()), (value) => Array.isArray(value) && value.every(text.fits))),
  object: nullish(object),
  flag: nullish(field(z.boolean(), (value) => typeof value === 'boolean')),
};

export const SessionStarted = payload({
  agentName: optional.name,
  agentVersion: optional.name,
  mcpClientInfo: optional.object,
  tags: optional.strings,
});

export const SESSION_END_REASONS = ['completed', 'error', 'timeout', 'manual'] as const;

export const SessionEnded = payload({
  reason: field(z.enum(SESSION_END_REASONS, `must be one of ${SESSION_END_REASONS.join(', ')}`), (value) =>
    SESSION_END_REASONS.some((reason) => reason === value),
  ),
  summary: optional.text,
  totalToolCalls: optional.count,
  totalDurationMs: optional.milliseconds,
});

export const ToolCall = payload({ toolName: name, callId, arguments: object, serverName: optional.name });

export const ToolResponse = payload({
  callId,
  toolName: name,
  durationMs: milliseconds,
  result: anything,
  isError: optional.flag,
});

export const ToolError = payload({
  callId,
  toolName: name,
  error: text,
  durationMs: milliseconds,
  errorCode: nullish(
    field(z.union([z.string(), z.number()]), (value) => typeof value === 'string' || Number.isFinite(value)),
  ),
});

/** `role` is open text: plugins send "unknown" if the framework does not report it. */
const Message = payload({
  role: text,
  content: nullish(
    field(z.union([z.string(), z.array(z.unknown())]), (value) => typeof value === 'string' || Array.isArray(value)),
  ),
});

export const LlmCall = payload({
  callId,
  provider: optional.name,
  model: name,
  messages: field(z.array(Message.schema), (value) => Array.isArray(value) && value.every(Message.fits)),
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
  cacheWrite1hTokens: optional.count,
  reasoningTokens: optional.count,
  audioInputTokens: optional.count,
  audioOutputTokens: optional.count,
  cacheReadAudioTokens: optional.count,
  webSearches: optional.count,
  fileSearches: optional.count,
});

export const LlmResponse = payload({
  callId,
  provider: optional.name,
  model: name,
  completion: field(text.schema.nullable(), (value) => value === null || text.fits(value)),
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

export const ApprovalRequested = payload({ requestId: name, action: name, params: object, urgency: text });
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
  currentValue: number,
  threshold: number,
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
export const Custom = payload({ type: name, data: object });
