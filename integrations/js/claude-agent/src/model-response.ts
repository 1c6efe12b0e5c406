import type { LlmResponse } from '@agentlens/sdk';
import type { ContentBlock, Usage } from './shapes.ts';

/** A model's answer as runs record it. Calls of tools that ran at the provider are recorded elsewhere. */
export function responseOf(model: string, usage: Usage, blocks: readonly ContentBlock[]): LlmResponse {
  return {
    content: blocks.flatMap(partOf),
    model: { name: model, provider: 'anthropic' },
    usage: usageOf(usage),
  };
}

/** Anthropic counts cached tokens beside the input tokens; runs count them inside. */
function usageOf(usage: Usage): LlmResponse['usage'] {
  const { cache_read_input_tokens: read = 0, cache_creation_input_tokens: write = 0, input_tokens: input = 0 } = usage;
  return {
    inputTokens: input + read + write,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.cache_read_input_tokens,
    cacheWriteTokens: usage.cache_creation_input_tokens,
    cacheWrite1hTokens: usage.cache_creation?.ephemeral_1h_input_tokens,
    serviceTier: usage.service_tier ?? undefined,
    webSearches: usage.server_tool_use?.web_search_requests || undefined,
  };
}

function partOf(block: ContentBlock): LlmResponse['content'][number][] {
  if (block.type === 'text') return [{ type: 'text', text: block.text ?? '' }];
  if (block.type !== 'tool_use') return [];
  const { id: toolCallId, name: toolName = '', input: args } = block;
  return [{ type: 'tool_call', toolCallId, toolName, args }];
}
