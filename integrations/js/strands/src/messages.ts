import type { Block, Message } from './shapes.ts';

interface Recorded {
  readonly role: string;
  readonly content: unknown;
}

/** What of a message is recorded, and the message with cleaned contents in it. */
export interface RecordedMessage {
  readonly parts: readonly Recorded[];
  readonly cleaned: (contents: readonly unknown[]) => Message;
}

/** Tool results stand in a message of the user's: each of them is recorded as one of its own. */
export function recorded(message: Message): RecordedMessage {
  const { role, content } = message;
  if (role === 'assistant') return whole(message, contentOf(content));
  const results = content.filter(({ type }) => type === 'toolResultBlock');
  if (results.length === 0) return whole(message, textOf(content) || content);
  return {
    parts: results.map((block) => ({ role: 'tool', content: textOf(block.content ?? []) || block.content })),
    cleaned: (contents) => {
      const blocks = content.map((block) => {
        const at = results.indexOf(block);
        return at === -1 ? block : withBlocks(block, withText(block.content ?? [], contents[at]));
      });
      return withBlocks(message, blocks);
    },
  };
}

/** Text and calls of a model's answer. */
export function contentOf(blocks: readonly Block[]) {
  const text = textOf(blocks);
  const calls = blocks.flatMap(({ type, toolUseId: toolCallId, name: toolName = '', input: args }) =>
    type === 'toolUseBlock' ? [{ type: 'tool_call', toolCallId, toolName, args }] : [],
  );
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...calls];
}

function whole(message: Message, content: unknown): RecordedMessage {
  return {
    parts: [{ role: message.role, content }],
    cleaned: ([after]) => {
      const parts = Array.isArray(after) ? (after as readonly { text?: string }[]) : undefined;
      const text = parts === undefined ? after : parts.map(({ text: one = '' }) => one).join('');
      return withBlocks(message, withText(message.content, text));
    },
  };
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map(({ type, text }) => (type === 'textBlock' ? (text ?? '') : '')).join('');
}

/** The text in the place of the first text, and no other one. */
function withText(blocks: readonly Block[], text: unknown): Block[] {
  const first = blocks.findIndex(({ type }) => type === 'textBlock');
  return blocks.flatMap((block, index) => {
    if (block.type !== 'textBlock') return [block];
    return index === first ? [copied(block, { text })] : [];
  });
}

function withBlocks<T extends object>(holder: T, content: readonly Block[]): T {
  return copied(holder, { content });
}

function copied<T extends object>(original: T, changes: object): T {
  const copy = Object.create(Object.getPrototypeOf(original), Object.getOwnPropertyDescriptors(original)) as T;
  const changed = Object.entries(changes).map(([name, value]) => [
    name,
    { value, enumerable: true, configurable: true, writable: true },
  ]);
  return Object.defineProperties(copy, Object.fromEntries(changed));
}
