import { cleanName, type JsonObject, repairId } from '@agentlens/contracts';
import { firstText, firstValue, isObject, present, unpacked } from './attributes.ts';
import type { ContentMode } from './messages.ts';
import type { OtlpSpan } from './span.ts';
import { ownNameOf } from './who.ts';

const NAME = ['gen_ai.tool.name', 'tool.name', 'ai.toolCall.name', 'mcp.tool.name', 'traceloop.entity.name'];
const CALL_ID = ['gen_ai.tool.call.id', 'tool_call.id', 'tool.id', 'ai.toolCall.id'];
const ARGUMENTS = [
  'gen_ai.tool.call.arguments',
  'ai.toolCall.args',
  'tool_arguments',
  'input.value',
  'traceloop.entity.input',
  'gen_ai.prompt',
  'tool.parameters',
];
const RESULT = [
  'gen_ai.tool.call.result',
  'ai.toolCall.result',
  'tool_response',
  'output.value',
  'traceloop.entity.output',
  'gen_ai.completion',
];

/** Fields that a tool call adds to its event. */
interface OtlpToolCall {
  readonly toolName: string;
  readonly callId: string;
  readonly payload: JsonObject;
}

export function toolCallOf(span: OtlpSpan, content: ContentMode): OtlpToolCall {
  const { attributes, durationMs } = span;
  const toolName = nameOf(span);
  const answer = langChainAnswer(span);
  const sentId = firstText(attributes, CALL_ID) ?? eventValue(span, 'id') ?? answer?.tool_call_id;
  const callId = typeof sentId === 'string' && sentId !== '' ? repairId(sentId) : span.spanId;
  const serverName =
    firstText(attributes, ['mcp.server.name']) ??
    (attributes.has('mcp.method.name') ? firstText(attributes, ['server.address']) : undefined);
  const contents = content === 'none' ? {} : { arguments: argumentsOf(span), result: resultOf(span) };
  const agentName = ownNameOf(attributes);
  return { toolName, callId, payload: present({ callId, toolName, agentName, serverName, durationMs, ...contents }) };
}

function nameOf({ attributes, name }: OtlpSpan): string {
  const spanName = name.replace(/^(execute_tool|running tool:?|tools\/call) /, '').replace(/\.(tool|run)$/, '');
  return cleanName(firstText(attributes, NAME) ?? spanName) || 'unnamed';
}

/**
 * Returns the arguments as an object; other values become `{value: …}`. Absent if the source does not report contents.
 */
function argumentsOf(span: OtlpSpan): JsonObject | undefined {
  const sent = firstValue(span.attributes, ARGUMENTS) ?? eventValue(span, 'content', 'gen_ai.tool.message');
  if (sent === undefined) return undefined;
  const value = unwrapped(unpacked(sent));
  return isObject(value) ? value : { value };
}

/** OpenLLMetry wraps the arguments with framework data: as `inputs`, or as a Python literal in `input_str`. */
function unwrapped(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { inputs, input_str: text } = value;
  if (isObject(inputs)) return inputs;
  if (typeof text !== 'string') return value;
  const read = unpacked(text.replaceAll("'", '"'));
  return isObject(read) ? read : text;
}

/** Returns true if a tool handled its own error: it answers with the error, and its span succeeds. */
export function answersWithError(span: OtlpSpan): boolean {
  return span.attributes.get('gen_ai.tool.status') === 'error' || langChainAnswer(span)?.status === 'error';
}

/** OpenInference's format of a LangChain tool result: `{type: 'tool', data: {content, tool_call_id, status}}`. */
function langChainAnswer({ attributes }: OtlpSpan): JsonObject | undefined {
  const output = unpacked(attributes.get('output.value'));
  return isObject(output) && output.type === 'tool' && isObject(output.data) ? output.data : undefined;
}

function resultOf(span: OtlpSpan): unknown {
  const answer = langChainAnswer(span);
  if (answer !== undefined) return answer.content;
  return unpacked(firstValue(span.attributes, RESULT) ?? eventValue(span, 'message', 'gen_ai.choice'));
}

/** Strands keeps its contents in events of the span. */
function eventValue({ events }: OtlpSpan, attribute: string, eventName?: string): string | undefined {
  for (const { name, attributes } of events) {
    const value = attributes.get(attribute);
    if (typeof value !== 'string' || value === '') continue;
    if (eventName === undefined ? name.startsWith('gen_ai.') : name === eventName) return value;
  }
  return undefined;
}
