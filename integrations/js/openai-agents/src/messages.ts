import type { Item, ModelRequest } from './shapes.ts';

interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One message of the record, and the items of the request that it stands for. */
export interface MessageOfItems {
  readonly message: { readonly role: string; readonly content: unknown };
  /** The items with the cleaned content in them. */
  readonly cleaned: (content: unknown) => readonly Item[];
}

/** The history in messages. An answer is one message, though its text and each of its calls are items of their own. */
export function messagesOf(input: ModelRequest['input']): MessageOfItems[] {
  if (typeof input === 'string') input = [{ role: 'user', content: input }];
  const messages: MessageOfItems[] = [];
  let answer: Item[] = [];
  const close = () => {
    if (answer.length > 0) messages.push(answerOf(answer));
    answer = [];
  };
  for (const item of input) {
    if (isOfAnswer(item)) answer.push(item);
    else {
      close();
      messages.push(messageOf(item));
    }
  }
  close();
  return messages;
}

/** Text and calls of a model's answer. */
export function contentOf(items: readonly Item[]): Part[] {
  return items.flatMap((item): Part[] => {
    if (item.type === 'function_call') return [callOf(item)];
    if (item.role !== 'assistant') return [];
    const text = textOf(item.content);
    return text === '' ? [] : [{ type: 'text', text }];
  });
}

export function parsed(json: string | undefined): unknown {
  if (json === undefined || json === '') return {};
  try {
    return JSON.parse(json);
  } catch {
    // A model may write what is not JSON; the framework tells it so.
    return json;
  }
}

function isOfAnswer({ type, role }: Item): boolean {
  return role === 'assistant' || type === 'function_call' || type === 'hosted_tool_call' || type === 'reasoning';
}

function callOf({ callId: toolCallId, name: toolName, arguments: args }: Item): Part {
  return { type: 'tool_call', toolCallId, toolName, args: parsed(args) };
}

function answerOf(items: readonly Item[]): MessageOfItems {
  const content = contentOf(items);
  return {
    message: { role: 'assistant', content },
    cleaned: (after) => {
      const texts = (after as readonly Part[]).filter(({ type }) => type === 'text').map(({ text }) => text);
      const spoken = items.filter((item) => item.role === 'assistant' && textOf(item.content) !== '');
      return items.map((item) => {
        const at = spoken.indexOf(item);
        return at === -1 ? item : { ...item, content: [{ type: 'output_text', text: texts[at] }] };
      });
    },
  };
}

function messageOf(item: Item): MessageOfItems {
  const isResult = item.type === 'function_call_result';
  const { output, content } = item;
  const text = isResult ? textOfOutput(output) : textOf(content);
  const plain = text === '' ? (isResult ? output : content) : text;
  const role = isResult ? 'tool' : (item.role ?? 'observation');
  return {
    message: { role, content: plain },
    cleaned: (after) => [isResult ? { ...item, output: { type: 'text', text: after } } : { ...item, content: after }],
  };
}

/** Empty for what is not text alone. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part: Part) => part.text ?? part.refusal);
  return texts.every((text) => typeof text === 'string') ? texts.join('') : '';
}

function textOfOutput(output: unknown): string {
  if (typeof output === 'string') return output;
  const { type, text } = (output ?? {}) as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string' ? text : '';
}
