import type { ModelApi } from './model-dialect.ts';

/** What a scripted provider answers. */
export interface AnswerScript {
  readonly model: string;
  readonly id: string;
  /** The pieces of the text, one for each event of a stream. */
  readonly pieces: readonly string[];
  readonly tools?: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input. */
  readonly cachedTokens?: number;
}

/** Writes a whole answer as the provider writes it. */
export function writeWholeAnswer(api: ModelApi, script: AnswerScript): string {
  if (api === 'responses') return JSON.stringify(wholeResponse(script, 'completed'));
  if (api === 'embeddings' || api === 'embed') return JSON.stringify(writeEmbedding(api, script));
  if (api === 'generate') return JSON.stringify(geminiChunk(script, script.pieces.join(''), true));
  return JSON.stringify(api === 'messages' ? wholeMessage(script) : wholeCompletion(script));
}

/** Writes the events of a stream as the provider writes them. For chat, the usage is sent only if it is asked for. */
export function writeStreamedAnswer(api: ModelApi, script: AnswerScript, withUsage: boolean): string[] {
  if (api === 'responses') return responseEvents(script);
  if (api === 'generate') return geminiChunks(script);
  return api === 'messages' ? messageEvents(script) : completionChunks(script, withUsage);
}

function writeEmbedding(api: 'embeddings' | 'embed', { model, inputTokens }: AnswerScript): object {
  const values = [0.25, -0.5, 0.125];
  if (api === 'embed') return { embedding: { values } };
  const data = [{ object: 'embedding', index: 0, embedding: values }];
  return { object: 'list', model, data, usage: { prompt_tokens: inputTokens, total_tokens: inputTokens } };
}

function geminiChunk(script: AnswerScript, text: string, isLast: boolean, tools = script.tools ?? []): object {
  const { id, model, inputTokens, outputTokens, cachedTokens } = script;
  const calls = tools.map((tool) => ({ functionCall: { id: tool.id, name: tool.name, args: tool.args } }));
  const parts = [...(text === '' ? [] : [{ text }]), ...calls];
  return {
    candidates: [{ content: { role: 'model', parts }, ...(isLast ? { finishReason: 'STOP' } : {}), index: 0 }],
    usageMetadata: {
      promptTokenCount: inputTokens,
      ...(isLast ? { candidatesTokenCount: outputTokens } : {}),
      ...(cachedTokens === undefined ? {} : { cachedContentTokenCount: cachedTokens }),
      totalTokenCount: inputTokens + (isLast ? outputTokens : 0),
    },
    modelVersion: model,
    responseId: id,
  };
}

function geminiChunks(script: AnswerScript): string[] {
  const { pieces, tools = [] } = script;
  const write = (...[text, isLast, calls]: [string, boolean, AnswerScript['tools']?]) =>
    `data: ${JSON.stringify(geminiChunk(script, text, isLast, calls ?? []))}\r\n\r\n`;
  return [
    ...pieces.map((text) => write(text, false)),
    ...(tools.length === 0 ? [] : [write('', false, tools)]),
    write('', true),
  ];
}

/** Providers send arguments in pieces. */
function halve(text: string): string[] {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function anthropicUsage({ inputTokens, outputTokens, cachedTokens = 0 }: AnswerScript, output = outputTokens) {
  return {
    input_tokens: inputTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: output,
    service_tier: 'standard',
  };
}

function wholeMessage(script: AnswerScript) {
  const { id, model, pieces, tools = [] } = script;
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      { type: 'text', text: pieces.join('') },
      ...tools.map((tool) => ({ type: 'tool_use', id: tool.id, name: tool.name, input: tool.args })),
    ],
    stop_reason: tools.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: anthropicUsage(script),
  };
}

function messageEvents(script: AnswerScript): string[] {
  const { id, model, pieces, tools = [] } = script;
  const event = (type: string, rest: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: anthropicUsage(script, 1),
  };
  return [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping', {}),
    ...pieces.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    event('content_block_stop', { index: 0 }),
    ...tools.flatMap((tool, at) => [
      event('content_block_start', {
        index: at + 1,
        content_block: { type: 'tool_use', id: tool.id, name: tool.name, input: {} },
      }),
      ...halve(JSON.stringify(tool.args)).map((partial_json) =>
        event('content_block_delta', { index: at + 1, delta: { type: 'input_json_delta', partial_json } }),
      ),
      event('content_block_stop', { index: at + 1 }),
    ]),
    event('message_delta', {
      delta: { stop_reason: tools.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: script.outputTokens },
    }),
    event('message_stop', {}),
  ];
}

function chatUsage({ inputTokens, outputTokens, cachedTokens = 0 }: AnswerScript) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

const CREATED = 1_760_000_000;

function chatTools(tools: NonNullable<AnswerScript['tools']>) {
  return tools.map(({ id, name, args }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
}

function wholeCompletion(script: AnswerScript) {
  const { id, model, pieces, tools = [] } = script;
  const calls = tools.length > 0 ? { tool_calls: chatTools(tools) } : {};
  return {
    id,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: pieces.join(''), refusal: null, ...calls },
        logprobs: null,
        finish_reason: tools.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: chatUsage(script),
    service_tier: 'default',
  };
}

function completionChunks(script: AnswerScript, withUsage: boolean): string[] {
  const { id, model, pieces, tools = [] } = script;
  const chunk = (choices: object[], rest: object = {}) =>
    `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: CREATED, model, choices, ...rest })}\n\n`;
  const choice = (delta: object, reason: string | null = null) => [{ index: 0, delta, finish_reason: reason }];
  return [
    chunk(choice({ role: 'assistant', content: '' })),
    ...pieces.map((content) => chunk(choice({ content }))),
    ...chatTools(tools).flatMap(({ function: { name, arguments: args }, ...call }) => [
      chunk(choice({ tool_calls: [{ ...call, function: { name, arguments: '' } }] })),
      ...halve(args).map((piece) =>
        chunk(choice({ tool_calls: [{ index: call.index, function: { arguments: piece } }] })),
      ),
    ]),
    chunk(choice({}, tools.length > 0 ? 'tool_calls' : 'stop')),
    ...(withUsage ? [chunk([], { usage: chatUsage(script), service_tier: 'default' })] : []),
    'data: [DONE]\n\n',
  ];
}

function buildOutput(script: AnswerScript) {
  const { id, pieces, tools = [] } = script;
  return [
    {
      id: `msg_${id}`,
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
    },
    ...tools.map((tool) => ({
      id: `fc_${tool.id}`,
      type: 'function_call',
      status: 'completed',
      call_id: tool.id,
      name: tool.name,
      arguments: JSON.stringify(tool.args),
    })),
  ];
}

function wholeResponse(script: AnswerScript, status: 'in_progress' | 'completed') {
  const { id, model, inputTokens, outputTokens, cachedTokens = 0 } = script;
  const isOver = status === 'completed';
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
  return {
    id,
    object: 'response',
    created_at: CREATED,
    status,
    error: null,
    incomplete_details: null,
    model,
    output: isOver ? buildOutput(script) : [],
    parallel_tool_calls: true,
    tools: [],
    usage: isOver ? usage : null,
    service_tier: 'default',
  };
}

function responseEvents(script: AnswerScript): string[] {
  const { id, pieces } = script;
  let number = -1;
  const event = (type: string, rest: object) => {
    number += 1;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...rest })}\n\n`;
  };
  const [message, ...calls] = buildOutput(script);
  const place = { item_id: `msg_${id}`, output_index: 0, content_index: 0 };
  const text = pieces.join('');
  const part = { type: 'output_text', text: '', annotations: [] };
  return [
    event('response.created', { response: wholeResponse(script, 'in_progress') }),
    event('response.in_progress', { response: wholeResponse(script, 'in_progress') }),
    event('response.output_item.added', { output_index: 0, item: { ...message, status: 'in_progress', content: [] } }),
    event('response.content_part.added', { ...place, part }),
    ...pieces.map((delta) => event('response.output_text.delta', { ...place, delta, logprobs: [] })),
    event('response.output_text.done', { ...place, text, logprobs: [] }),
    event('response.content_part.done', { ...place, part: { ...part, text } }),
    event('response.output_item.done', { output_index: 0, item: message }),
    ...calls.flatMap((item, at) => {
      const { arguments: args } = item as { readonly arguments: string };
      const its = { item_id: item.id, output_index: at + 1 };
      return [
        event('response.output_item.added', {
          output_index: at + 1,
          item: { ...item, status: 'in_progress', arguments: '' },
        }),
        ...halve(args).map((delta) => event('response.function_call_arguments.delta', { ...its, delta })),
        event('response.function_call_arguments.done', { ...its, arguments: args }),
        event('response.output_item.done', { output_index: at + 1, item }),
      ];
    }),
    event('response.completed', { response: wholeResponse(script, 'completed') }),
  ];
}
