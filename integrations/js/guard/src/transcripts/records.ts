import { count, type HostId, isRecord, type JsonRecord, type ModelUsage, recordOf, text } from '../hosts/host.ts';

/** A tool call as a transcript records it. */
export interface RecordedCall {
  readonly id: string | undefined;
  readonly tool: string;
  readonly input: JsonRecord;
  /** Epoch ms; absent if the line has no time. */
  readonly at?: number;
}

export interface RecordedUsage {
  /** Model that this line names for the following ones. */
  readonly model?: string;
  readonly usage?: ModelUsage;
  /** Session that this line names, of its own file or of the one that it was copied from. */
  readonly session?: string;
  /** Session that this one was forked from. */
  readonly forkedFrom?: string;
  /** Sums of the session with this call, on hosts that write them: equal sums are the same call. */
  readonly sums?: string;
}

/** Model call in one line of a transcript. @param at offset of the line, which names records without an id */
export function usageInLine(host: HostId, line: string, at: number): RecordedUsage | undefined {
  const record = recordIn(line);
  if (record === undefined) return undefined;
  switch (host) {
    case 'claude-code':
      return claudeUsage(record);
    case 'codex':
      return codexUsage(record, at);
    case 'gemini-cli':
      return geminiUsage(record);
    case 'qwen-code':
      return qwenUsage(record);
    case 'copilot-cli':
      return copilotUsage(record, at);
    case 'kimi-code':
      return kimiUsage(record);
    case 'opencode':
      return undefined;
  }
}

function claudeUsage(record: JsonRecord): RecordedUsage | undefined {
  const message = recordOf(record.message);
  const usage = recordOf(message.usage);
  const id = text(message.id);
  if (record.type !== 'assistant' || id === undefined || message.usage === undefined) return undefined;
  const model = text(message.model);
  // Claude Code writes messages of its own under this name.
  if (model === '<synthetic>') return undefined;
  return {
    usage: {
      ...{ id, model },
      input: count(usage.input_tokens),
      output: count(usage.output_tokens),
      cacheRead: count(usage.cache_read_input_tokens),
      cacheWrite: count(usage.cache_creation_input_tokens),
      cacheWriteHour: count(recordOf(usage.cache_creation).ephemeral_1h_input_tokens),
      tier: tierIn(usage),
    },
  };
}

/** What Claude Code writes beside the counts. */
function tierIn(usage: JsonRecord): string | undefined {
  const named = [text(usage.speed), text(usage.service_tier)];
  return named.find((tier) => tier !== undefined && tier !== 'standard');
}

function codexUsage(record: JsonRecord, at: number): RecordedUsage | undefined {
  const payload = recordOf(record.payload);
  if (record.type === 'session_meta') return { session: text(payload.id), forkedFrom: text(payload.forked_from_id) };
  if (record.type === 'turn_context') return { model: text(payload.model) };
  if (payload.type !== 'token_count') return undefined;
  const info = recordOf(payload.info);
  const last = recordOf(info.last_token_usage);
  const total = recordOf(info.total_token_usage);
  const cached = count(last.cached_input_tokens);
  const input = Math.max(count(last.input_tokens) - cached, 0);
  const output = count(last.output_tokens);
  if (input + output + cached === 0) return undefined;
  const sums = [total.input_tokens, total.cached_input_tokens, total.output_tokens].map(count);
  return {
    usage: { id: `tokens-${at}`, input, output, cacheRead: cached, cacheWrite: 0 },
    // Without sums nothing tells two calls of the same size apart.
    ...(sums.some((sum) => sum > 0) ? { sums: sums.join('/') } : {}),
  };
}

function geminiUsage(record: JsonRecord): RecordedUsage | undefined {
  const id = text(record.id);
  if (id === undefined || !isRecord(record.tokens)) return undefined;
  const { tokens } = record;
  const cached = count(tokens.cached);
  return {
    usage: {
      ...{ id, model: text(record.model), cacheRead: cached, cacheWrite: 0 },
      input: Math.max(count(tokens.input) - cached, 0),
      output: count(tokens.output) + count(tokens.thoughts),
    },
  };
}

function qwenUsage(record: JsonRecord): RecordedUsage | undefined {
  const id = text(record.uuid);
  if (record.type !== 'assistant' || id === undefined || !isRecord(record.usageMetadata)) return undefined;
  const { usageMetadata: usage } = record;
  const cached = count(usage.cachedContentTokenCount);
  return {
    usage: {
      ...{ id, model: text(record.model), cacheRead: cached, cacheWrite: 0 },
      input: Math.max(count(usage.promptTokenCount) - cached, 0),
      output: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
    },
  };
}

function copilotUsage(record: JsonRecord, at: number): RecordedUsage | undefined {
  if (record.type !== 'session.usage_record') return undefined;
  const data = recordOf(record.data);
  const usage = isRecord(data.usage) ? data.usage : data;
  const cached = count(usage.cacheReadTokens) || count(usage.cache_read_tokens);
  const input = count(usage.inputTokens) || count(usage.input_tokens);
  return {
    usage: {
      id: text(record.id) ?? `usage-${at}`,
      model: text(data.model) ?? text(usage.model),
      input: Math.max(input - cached, 0),
      output: count(usage.outputTokens) || count(usage.output_tokens),
      cacheRead: cached,
      cacheWrite: count(usage.cacheWriteTokens) || count(usage.cache_write_tokens),
    },
  };
}

/** A record of usage names the alias of the model; the request before it names the model. */
function kimiUsage(record: JsonRecord): RecordedUsage | undefined {
  if (record.type === 'llm.request') return { model: text(record.model) };
  if (record.type !== 'usage.record' || !isRecord(record.usage)) return undefined;
  const { usage } = record;
  const [input, output] = [count(usage.inputOther), count(usage.output)];
  const [cacheRead, cacheWrite] = [count(usage.inputCacheRead), count(usage.inputCacheCreation)];
  const id = ['kimi', text(record.agentId) ?? 'main', count(record.time), input, output, cacheRead].join('-');
  return { usage: { ...{ id, input, output }, cacheRead, cacheWrite } };
}

/** Tool calls in one record of a transcript. */
export function callsIn(host: HostId, record: JsonRecord): RecordedCall[] {
  const at = typeof record.time === 'number' ? record.time : Date.parse(text(record.timestamp) ?? '');
  const timed = Number.isNaN(at) ? {} : { at };
  const found = (id: unknown, tool: unknown, input: unknown): RecordedCall[] => {
    const name = text(tool);
    return name === undefined ? [] : [{ id: text(id), tool: name, input: inputOf(input), ...timed }];
  };
  switch (host) {
    case 'claude-code':
      return parts(recordOf(record.message).content).flatMap((part) =>
        record.type === 'assistant' && part.type === 'tool_use' ? found(part.id, part.name, part.input) : [],
      );
    case 'codex': {
      const payload = recordOf(record.payload);
      const isCall = /^(?:function_call|custom_tool_call|local_shell_call)$/.test(text(payload.type) ?? '');
      return isCall ? found(payload.call_id, payload.name ?? 'shell', payload.arguments ?? payload.input) : [];
    }
    case 'gemini-cli':
      return parts(record.toolCalls).flatMap((call) => found(call.id, call.name, call.args));
    case 'qwen-code':
      return parts(recordOf(record.message).parts).flatMap((part) => {
        const call = recordOf(part.functionCall);
        return found(call.id, call.name, call.args);
      });
    case 'copilot-cli': {
      const data = recordOf(record.data);
      return record.type === 'tool.execution_start' ? found(data.toolCallId, data.toolName, data.arguments) : [];
    }
    case 'kimi-code': {
      const event = recordOf(record.event);
      return event.type === 'tool.call' ? found(event.toolCallId, event.name, event.args) : [];
    }
    case 'opencode':
      return [];
  }
}

/** Ids of calls that ran, and whether the record reports such results at all. */
export function executedIn(
  host: HostId,
  record: JsonRecord,
): { readonly ids: readonly string[]; readonly known: boolean } {
  const none = { ids: [], known: false };
  const found = (all: readonly JsonRecord[], id: string, ran: (part: JsonRecord) => boolean) => ({
    ids: all.filter(ran).flatMap((part) => text(part[id]) ?? []),
    known: all.length > 0,
  });
  switch (host) {
    case 'claude-code': {
      const results = parts(recordOf(record.message).content).filter(({ type }) => type === 'tool_result');
      return found(results, 'tool_use_id', (part) => part.is_error !== true);
    }
    case 'gemini-cli':
      return found(parts(record.toolCalls), 'id', ({ status }) => status === 'success');
    case 'copilot-cli': {
      const isResult = record.type === 'tool.execution_complete';
      return isResult ? found([recordOf(record.data)], 'toolCallId', ({ success }) => success === true) : none;
    }
    case 'kimi-code': {
      const event = recordOf(record.event);
      const isResult = event.type === 'tool.result';
      return isResult ? found([event], 'toolCallId', ({ result }) => recordOf(result).isError !== true) : none;
    }
    default:
      return none;
  }
}

/** Session that a record names. */
export function sessionIn(host: HostId, record: JsonRecord): string | undefined {
  if (host === 'codex') return record.type === 'session_meta' ? text(recordOf(record.payload).id) : undefined;
  return host === 'copilot-cli' ? undefined : text(record.sessionId);
}

function parts(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function inputOf(value: unknown): JsonRecord {
  if (typeof value !== 'string') return recordOf(value);
  return recordIn(value) ?? { input: value };
}

/** @returns undefined for a line that holds no object */
export function recordIn(line: string): JsonRecord | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    // A line that its writer has not finished.
    return undefined;
  }
}
