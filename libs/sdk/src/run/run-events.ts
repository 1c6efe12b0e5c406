import type { Decision } from '../wire/decision.ts';
import { BYPASSES, type Bypass } from '../wire/failures.ts';
import type { AgentIdentity, AgentMessage, LlmResponse } from '../wire/model.ts';
import { readMessage } from '../wire/model-response.ts';
import { clip } from '../wire/safe-json.ts';
import { outputText, textOf } from './message-log.ts';
import type { AdapterInfo, RunConfig } from './run-config.ts';

const MAX_CONTENT_CHARS = 64_000;

/** Any other role, including system and developer, is an observation. */
const MESSAGE_KINDS: ReadonlyMap<string, string> = new Map([
  ['user', 'input'],
  ['assistant', 'output'],
  ['tool', 'tool_result'],
]);

/** Event data in the vocabulary of the agent protocol. */
export function startedData(config: RunConfig, agent: AgentIdentity): Record<string, unknown> {
  const { actor, model, tags = {}, runTtlMs } = config;
  return {
    agent: { name: agent.name ?? agent.slug },
    ...(actor === undefined ? {} : { actor: { externalId: actor.externalId, metadata: actor.metadata } }),
    ...(model === undefined ? {} : { model }),
    adapter: config.adapter ?? { name: 'agentlens-sdk' },
    tags,
    ...(runTtlMs === undefined ? {} : { runTtlMs }),
  };
}

export function messageData(messageId: string, message: AgentMessage, recordContent: boolean): Record<string, unknown> {
  const { role, content } = readMessage(message);
  const text = recordContent ? textOf(content) : '';
  return {
    messageId,
    role,
    kind: MESSAGE_KINDS.get(role) ?? 'observation',
    content: clip(text, MAX_CONTENT_CHARS),
    contentTruncated: text.length > MAX_CONTENT_CHARS,
  };
}

export function llmData(
  response: LlmResponse,
  callId: string,
  {
    reservationId,
    adapter,
  }: { readonly reservationId: string | undefined; readonly adapter?: AdapterInfo | undefined },
): object {
  const { usage, model, content, durationMs, costUsd, confidence, error } = response;
  return {
    model,
    callId,
    tokens: {
      in: usage?.inputTokens ?? 0,
      out: usage?.outputTokens ?? 0,
      cacheRead: usage?.cacheReadTokens,
      cacheWrite: usage?.cacheWriteTokens,
      cacheWrite1h: usage?.cacheWrite1hTokens,
      reasoning: usage?.reasoningTokens,
      audioIn: usage?.audioInputTokens,
      audioOut: usage?.audioOutputTokens,
      cacheReadAudio: usage?.cacheReadAudioTokens,
      total: usage?.totalTokens,
    },
    webSearches: usage?.webSearches,
    fileSearches: usage?.fileSearches,
    reportedBy: adapter && reporterName(adapter),
    serviceTier: usage?.serviceTier,
    ...(usage === undefined ? { usageKnown: false } : {}),
    messageCount: content.length,
    ...{ durationMs, costUsd, confidence, reservationId },
    ...(error === undefined ? {} : { outcome: 'error', error: errorData(error) }),
  };
}

function reporterName({ name, version, framework, frameworkVersion }: AdapterInfo): string {
  const adapter = version === undefined ? name : `${name} ${version}`;
  if (framework === undefined) return adapter;
  return `${adapter}, ${frameworkVersion === undefined ? framework : `${framework} ${frameworkVersion}`}`;
}

export function answerMessage(response: LlmResponse): AgentMessage {
  return { role: 'assistant', content: response.outputText ?? outputText(response.content) };
}

export function decisionData(
  decision: Decision,
  tool: { name: string; tags: readonly string[] },
  latencyMs: number,
): Record<string, unknown> {
  const { verdict, control, cause, message, evaluatedRules, finalRuleId, callId, source, bypass, shadowed } = decision;
  return {
    // The event reports the decision; `enforced` reports whether it was applied.
    ...{ verdict, control, cause, message, finalRuleId, ...shadowed, evaluatedRules },
    enforced: shadowed === undefined,
    tool: { name: tool.name, ...(tool.tags.length === 0 ? {} : { categories: tool.tags }) },
    ...{ callId, source, bypass, latencyMs },
  };
}

/** For a call without a decision: the fail mode or a rule's `onUnavailable` decided. */
export function bypassData(decision: Decision, why: Bypass, toolName: string): Record<string, unknown> {
  const { phase, callId, verdict, message, shadowed } = decision;
  return {
    ...{ phase, callId, why, cause: BYPASSES[why].cause, verdict, message: shadowed?.message ?? message },
    did: verdict === 'ALLOW' ? 'allow' : 'block',
    ...(toolName === '' ? {} : { tool: { name: toolName } }),
  };
}

/** For any thrown value. Only the name and the message leave the process, never a stack. */
export function errorData(error: unknown): { name: string; message: string } {
  if (error instanceof Error) return { name: clip(error.name, 256), message: clip(error.message, 4_000) };
  return { name: typeof error, message: clip(textOf(error), 4_000) };
}
