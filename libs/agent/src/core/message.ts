import type { ErrorCode } from './agent-error.ts';
import type { Json } from './json.ts';

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

/** A model's thinking. `signature` and `opaque` belong to the provider and are returned to it unchanged. */
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature?: string;
  readonly opaque?: Json;
}

export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** The provider's text if an input was not valid JSON; `input` is then empty. */
  readonly malformed?: string;
  /** The provider's own data about the call; returned to it unchanged. */
  readonly opaque?: Json;
}

export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly name: string;
  readonly content: Json;
  readonly isError: boolean;
}

export type ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock;

/** One entry of a conversation. Tool results are in user messages after the assistant's calls. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly ContentBlock[];
}

const blocksOf = (content: string | readonly ContentBlock[]): readonly ContentBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

export const Message = {
  user: (content: string | readonly ContentBlock[]): Message => ({ role: 'user', content: blocksOf(content) }),
  assistant: (content: string | readonly ContentBlock[]): Message => ({
    role: 'assistant',
    content: blocksOf(content),
  }),
};

/** The text of a message, without thinking, calls and results. */
export function textOf(content: string | readonly ContentBlock[]): string {
  return blocksOf(content)
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('');
}

export function toolUsesOf(content: readonly ContentBlock[]): readonly ToolUseBlock[] {
  return content.filter((block) => block.type === 'tool_use');
}

/** Calls of the conversation without a result, in order. A model rejects a history with open calls. */
export function openToolUses(messages: readonly Message[]): readonly ToolUseBlock[] {
  const open = new Map<string, ToolUseBlock>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === 'tool_use') open.set(block.id, block);
      if (block.type === 'tool_result') open.delete(block.toolUseId);
    }
  }
  return [...open.values()];
}

/** Merges adjacent messages of the same role; providers require alternating roles. */
export function mergedMessages(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === message.role)
      merged[merged.length - 1] = { role: last.role, content: [...last.content, ...message.content] };
    else merged.push(message);
  }
  return merged;
}

/** Result of a tool call as the model receives it. */
export interface ToolResult {
  readonly output: Json;
  readonly isError: boolean;
  readonly code?: ErrorCode;
  readonly meta?: Json;
}

/** Description of a call for a human. */
export interface ToolInfo {
  readonly name: string;
  /** One line: what would happen. */
  readonly actionDescription: string;
  readonly details?: string;
}

export const ToolResult = {
  ok: (output: Json, meta?: Json): ToolResult => ({ output, isError: false, ...(meta === undefined ? {} : { meta }) }),
  error: (code: ErrorCode, message: string, info?: Json): ToolResult => ({
    output: info === undefined ? { error: message } : { error: message, info },
    isError: true,
    code,
  }),
};
