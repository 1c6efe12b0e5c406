import { type Guard, type RunScope, readAnswerUsage } from '@agentlens/sdk/adapter';
import type { ContentBlock, Message, Middleware, ModelHandler, ModelRequest } from './shapes.ts';

/** Asks before each model call, sends cleaned messages, and reports the answer. Goes last, next to the model. */
export function modelMiddleware(guard: Guard): Middleware {
  return {
    name: 'agentlens',
    wrapModelCall: async (request, handler) => guarded(guard.here(), request, handler),
  };
}

async function guarded(scope: RunScope, request: ModelRequest, handler: ModelHandler): Promise<Message> {
  const { messages, systemMessage } = request;
  const system = systemMessage?.content ? [systemMessage] : [];
  const all = [...system, ...messages];
  const before = all.map(recorded);
  const answer = await scope.callModel(
    before,
    (cleaned) => {
      const sent = all.map((message, index) => withContent(message, before[index]?.content, cleaned[index]?.content));
      const withSystem = system.length === 0 ? {} : { systemMessage: sent[0] };
      return handler({ ...request, ...withSystem, messages: sent.slice(system.length) });
    },
    {
      model: { name: nameOf(request.model) },
      read: (message) => ({ content: contentOf(message), usage: usageIn(message) }),
    },
  );
  await observeProviderTools(scope, answer);
  return answer;
}

function nameOf(model: ModelRequest['model']): string {
  if (typeof model === 'string') return model;
  return model.model ?? model.modelName ?? model.getName?.() ?? 'unknown';
}

/**
 * LangChain drops some counts of the provider: the total still holds the thinking of Gemini, and the provider's own
 * usage the searches of Anthropic.
 */
function usageIn({ usage_metadata, response_metadata: provider }: Message) {
  const usage = readAnswerUsage({ usage_metadata, response_metadata: provider });
  const searches = provider?.usage?.server_tool_use?.web_search_requests ?? 0;
  return usage === undefined || searches === 0 ? usage : { ...usage, webSearches: searches };
}

/** Tools that ran at the provider come as blocks of the answer. */
async function observeProviderTools(scope: RunScope, { contentBlocks }: Message): Promise<void> {
  // Not there in versions before the standard blocks.
  const blocks = contentBlocks ?? [];
  for (const { type, toolCallId, output, status } of blocks) {
    if (type !== 'server_tool_call_result') continue;
    const call = blocks.find((block) => block.type === 'server_tool_call' && block.id === toolCallId);
    const id = typeof toolCallId === 'string' ? toolCallId : undefined;
    const error = status === 'error' ? output : undefined;
    const name = typeof call?.name === 'string' ? call.name : 'provider_tool';
    const about = { id, name, args: call?.args };
    await scope.observeTool(about, { result: output, error, durationMs: 0 });
  }
}

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' };

/** A message as it is recorded; an answer that calls tools names its calls, by which it is known again. */
function recorded(message: Message): { role: string; content: unknown } {
  const type = message.getType();
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return { role: ROLES[type] ?? type, content: message.content };
  return { role: 'assistant', content: contentOf(message) };
}

/** Text and calls of an answer. */
function contentOf(message: Message): ContentBlock[] {
  const text = textOf(message);
  const calls = (message.tool_calls ?? []).map(({ id: toolCallId, name: toolName, args }) => ({
    ...{ type: 'tool_call', toolCallId, toolName, args },
  }));
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...calls];
}

/** The message with a cleaned content: itself if nothing was changed, else a copy. */
function withContent(message: Message, before: unknown, after: unknown): Message {
  if (after === before) return message;
  const calls = (message.tool_calls ?? []).length > 0;
  const content = calls && Array.isArray(after) ? textOfParts(after) : after;
  const copy = Object.create(Object.getPrototypeOf(message), Object.getOwnPropertyDescriptors(message));
  const { lc_kwargs } = message as { lc_kwargs?: object };
  return Object.assign(copy, { content, ...(lc_kwargs === undefined ? {} : { lc_kwargs: { ...lc_kwargs, content } }) });
}

function textOf({ content, text }: Message): string {
  return text ?? (typeof content === 'string' ? content : textOfParts(content));
}

function textOfParts(parts: unknown): string {
  if (!Array.isArray(parts)) return '';
  return parts.map((part: ContentBlock) => (part.type === 'text' ? String(part.text) : '')).join('');
}
