import type { Content, LlmRequest, Part } from './shapes.ts';

interface Recorded {
  readonly role: string;
  readonly content: unknown;
}

/** What of a content is recorded, and the content with cleaned ones in it. */
export interface RecordedContent {
  readonly parts: readonly Recorded[];
  readonly cleaned: (contents: readonly unknown[]) => Content;
}

/** Tool results stand in a content of the user's: each of them is recorded as a message of its own. */
export function recorded(content: Content): RecordedContent {
  const parts = content.parts ?? [];
  if (content.role === 'model') {
    const before = contentOf(parts);
    return {
      parts: [{ role: 'assistant', content: before }],
      cleaned: ([after]) => withText(content, textOfAnswer(after)),
    };
  }
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined);
  if (results.length === 0) {
    const text = textOf(parts);
    return { parts: [{ role: 'user', content: text || parts }], cleaned: ([after]) => withText(content, after) };
  }
  return {
    parts: results.map(({ functionResponse }) => ({ role: 'tool', content: functionResponse?.response })),
    cleaned: (contents) => {
      const cleaned = parts.map((part) => {
        const at = results.indexOf(part);
        return at === -1 ? part : { ...part, functionResponse: { ...part.functionResponse, response: contents[at] } };
      });
      return { ...content, parts: cleaned };
    },
  };
}

/** Text and calls of a model's answer. */
export function contentOf(parts: readonly Part[]) {
  const text = textOf(parts);
  const calls = parts.flatMap(({ functionCall }) => {
    if (functionCall === undefined) return [];
    const { id: toolCallId, name: toolName = '', args } = functionCall;
    return [{ type: 'tool_call', toolCallId, toolName, args }];
  });
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...calls];
}

export function systemOf({ config }: LlmRequest): readonly Recorded[] {
  const { systemInstruction } = config ?? {};
  return typeof systemInstruction === 'string' ? [{ role: 'system', content: systemInstruction }] : [];
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text, thought }) => (thought === true ? '' : (text ?? ''))).join('');
}

function textOfAnswer(content: unknown): string {
  return (content as readonly Part[]).map(({ text = '' }) => text).join('');
}

/** The text in the place of the first text, and no other one. */
function withText(content: Content, text: unknown): Content {
  const parts = content.parts ?? [];
  const first = parts.findIndex((part) => part.text !== undefined);
  const changed = parts.flatMap((part, index) => {
    if (part.text === undefined) return [part];
    return index === first ? [{ ...part, text: String(text) }] : [];
  });
  return { ...content, parts: changed };
}
