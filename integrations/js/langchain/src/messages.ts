import type { ContentBlock, Message } from './shapes.ts';

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' };

/** A message as it is recorded; an answer that calls tools names its calls, by which it is known again. */
export function recorded(message: Message): { role: string; content: unknown } {
  const type = message.getType();
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return { role: ROLES[type] ?? type, content: message.content };
  return { role: 'assistant', content: contentOf(message) };
}

/** Text and calls of an answer. */
export function contentOf(message: Message): ContentBlock[] {
  const text = textOf(message);
  const calls = (message.tool_calls ?? []).map(({ id: toolCallId, name: toolName, args }) => ({
    ...{ type: 'tool_call', toolCallId, toolName, args },
  }));
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...calls];
}

/** The message with a cleaned content: itself if nothing was changed, else a copy. */
export function withContent(message: Message, before: unknown, after: unknown): Message {
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
