import { describe, expect, it } from '@jest/globals';
import { readMessage, readModelResponse, readUsage } from './model-response.ts';

// Answers as the clients return them: openai 6 and 7, @anthropic-ai/sdk, ai 5 to 7, @langchain/core 1.
const CHAT_COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_741_569_952,
  model: 'gpt-4.1-2025-04-14',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        annotations: [],
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'refund', arguments: '{"eur":20}' } },
          { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'ls -l' } },
        ],
      },
      logprobs: null,
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 19,
    completion_tokens: 10,
    total_tokens: 29,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
  service_tier: 'default',
};

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'gpt-4.1',
  output: [
    { id: 'rs_1', type: 'reasoning', summary: [] },
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
    },
    {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'call_1',
      name: 'refund',
      arguments: '{"eur":20}',
      status: 'completed',
    },
  ],
  output_text: 'Hello.',
  usage: {
    input_tokens: 36,
    input_tokens_details: { cached_tokens: 6 },
    output_tokens: 87,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 123,
  },
};

const ANTHROPIC = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [
    { type: 'text', text: 'Hello.', citations: null },
    { type: 'tool_use', id: 'toolu_1', name: 'refund', input: { eur: 20 } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 3,
    cache_read_input_tokens: 5,
    output_tokens: 7,
    service_tier: 'standard',
  },
};

const AI_SDK_5 = {
  text: 'Hello.',
  content: [
    { type: 'text', text: 'Hello.' },
    { type: 'tool-call', toolCallId: 'call-1', toolName: 'refund', input: { eur: 20 } },
  ],
  toolCalls: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'refund', input: { eur: 20 } }],
  finishReason: 'tool-calls',
  usage: { inputTokens: 10, outputTokens: 7, totalTokens: 17, cachedInputTokens: 5 },
  response: { id: 'r', modelId: 'gpt-4.1', timestamp: new Date(0) },
};

const AI_SDK_7 = {
  ...AI_SDK_5,
  usage: {
    inputTokens: 10,
    inputTokenDetails: { noCacheTokens: 2, cacheReadTokens: 5, cacheWriteTokens: 3 },
    outputTokens: 7,
    outputTokenDetails: { textTokens: 7, reasoningTokens: 0 },
    totalTokens: 17,
  },
};

const LANGCHAIN = {
  content: 'Hello.',
  tool_calls: [{ type: 'tool_call', id: 'call_1', name: 'refund', args: { eur: 20 } }],
  usage_metadata: { input_tokens: 10, output_tokens: 7, total_tokens: 17, input_token_details: { cache_read: 5 } },
  response_metadata: { model_name: 'gpt-4.1' },
};

const HELLO = { type: 'text', text: 'Hello.' };
const refund = (toolCallId: string) => ({ type: 'tool_call', toolCallId, toolName: 'refund', args: { eur: 20 } });

describe('the answer of a model client', () => {
  it.each([
    [
      'an OpenAI chat completion',
      CHAT_COMPLETION,
      {
        content: [refund('call_1'), { type: 'tool_call', toolCallId: 'call_2', toolName: 'shell', args: 'ls -l' }],
        model: { name: 'gpt-4.1-2025-04-14' },
        usage: { inputTokens: 19, outputTokens: 10, cacheReadTokens: 4, serviceTier: 'default' },
      },
    ],
    [
      'an OpenAI response',
      RESPONSE,
      {
        content: [{ id: 'rs_1', type: 'reasoning', summary: [] }, HELLO, refund('call_1')],
        model: { name: 'gpt-4.1' },
        usage: { inputTokens: 36, outputTokens: 87, cacheReadTokens: 6 },
      },
    ],
    [
      'an Anthropic message, which counts cached tokens separately',
      ANTHROPIC,
      {
        content: [HELLO, refund('toolu_1')],
        model: { name: 'claude-sonnet-4-5' },
        usage: { inputTokens: 18, outputTokens: 7, cacheReadTokens: 5, cacheWriteTokens: 3, serviceTier: 'standard' },
      },
    ],
    [
      'a result of the AI SDK 5',
      AI_SDK_5,
      {
        content: [HELLO, refund('call-1')],
        model: { name: 'gpt-4.1' },
        usage: { inputTokens: 10, outputTokens: 7, cacheReadTokens: 5 },
      },
    ],
    [
      'a result of the AI SDK 7',
      AI_SDK_7,
      {
        content: [HELLO, refund('call-1')],
        model: { name: 'gpt-4.1' },
        usage: { inputTokens: 10, outputTokens: 7, cacheReadTokens: 5, cacheWriteTokens: 3 },
      },
    ],
    [
      'a LangChain message',
      LANGCHAIN,
      {
        content: [HELLO, refund('call_1')],
        model: { name: 'gpt-4.1' },
        usage: { inputTokens: 10, outputTokens: 7, cacheReadTokens: 5 },
      },
    ],
    [
      'text, a name, and any usage format',
      { content: 'Hello.', model: 'm', usage: { prompt_tokens: 11, completion_tokens: 2 } },
      { content: [HELLO], model: { name: 'm' }, usage: { inputTokens: 11, outputTokens: 2 } },
    ],
  ])('is read: %s', (_what, given, response) => {
    expect(readModelResponse(given)).toEqual({ response, unread: [] });
  });

  it('is completed with what only the caller knows', () => {
    const error = new Error('no');
    const about = { durationMs: 5, costUsd: 0.1, confidence: 0.5, callId: 'c', error, model: 'm' };
    const { response, unread } = readModelResponse('Hello.', about);
    expect(response).toEqual({ ...about, content: [HELLO], model: { name: 'm' } });
    expect(unread).toEqual([]);
  });

  it('takes the model from the run if the answer does not name it', () => {
    expect(readModelResponse('x', {}, { name: 'm' })).toMatchObject({ response: { model: { name: 'm' } }, unread: [] });
  });

  const throwing = {
    get content(): string {
      throw new Error('no');
    },
  };
  it.each([
    ['undefined', undefined, ['response']],
    ['null', null, ['response']],
    ['a number', 7, ['response']],
    ['a getter that throws', throwing, ['response']],
    ['an empty object', {}, ['content', 'model']],
    [
      'promises of a stream',
      { content: Promise.resolve([]), usage: Promise.resolve({}), model: 'm' },
      ['content', 'usage'],
    ],
    ['invalid amounts', { content: 'x', model: 'm', usage: { inputTokens: -1, outputTokens: 'many' } }, ['usage']],
    ['no choices', { choices: [], model: 'm' }, ['content']],
  ])('is reported if it cannot be read, and never throws: %s', (_what, given, unread) => {
    expect(readModelResponse(given).unread).toEqual(unread);
  });

  it('is a failure if the client reports one, but not for `error: null`', () => {
    expect(readModelResponse({ ...RESPONSE, error: { code: 'server_error' } }).response.error).toBeDefined();
    expect(readModelResponse(RESPONSE).response).not.toHaveProperty('error');
  });

  it.each<[string, object, object]>([
    [
      "OpenAI's cache writes",
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 1,
          prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 4 },
        },
      },
      { inputTokens: 9, cacheReadTokens: 2, cacheWriteTokens: 4 },
    ],
    [
      'cached audio of the realtime API',
      {
        usage: {
          ...{ input_tokens: 10, output_tokens: 0 },
          input_token_details: { audio_tokens: 6, cached_tokens: 4, cached_tokens_details: { audio_tokens: 3 } },
        },
      },
      { audioInputTokens: 6, cacheReadTokens: 4, cacheReadAudioTokens: 3 },
    ],
    [
      'searches of Anthropic',
      { usage: { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 3 } } },
      { webSearches: 3 },
    ],
    [
      'searches among the items of a response',
      {
        output: [
          { type: 'web_search_call', action: { type: 'search' } },
          { type: 'web_search_call', action: { type: 'open_page' } },
          { type: 'file_search_call' },
        ],
        usage: { input_tokens: 10, output_tokens: 5 },
      },
      { webSearches: 1, fileSearches: 1 },
    ],
    [
      "Gemini's thinking and tools",
      {
        usageMetadata: {
          promptTokenCount: 100,
          candidatesTokenCount: 20,
          thoughtsTokenCount: 10,
          toolUsePromptTokenCount: 30,
        },
      },
      { inputTokens: 130, outputTokens: 30, reasoningTokens: 10 },
    ],
    [
      'what the AI SDK keeps as metadata of Anthropic',
      {
        usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 900 },
        providerMetadata: {
          anthropic: {
            usage: {
              input_tokens: 10,
              output_tokens: 5,
              cache_read_input_tokens: 900,
              cache_creation_input_tokens: 90,
            },
          },
        },
      },
      { inputTokens: 1000, cacheReadTokens: 900, cacheWriteTokens: 90 },
    ],
    [
      'what the AI SDK keeps as metadata of Bedrock',
      {
        usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 900 },
        providerMetadata: { bedrock: { usage: { cacheReadInputTokens: 900, cacheWriteInputTokens: 90 } } },
      },
      { inputTokens: 1000, cacheReadTokens: 900, cacheWriteTokens: 90 },
    ],
    [
      'the tier that the AI SDK keeps as metadata of OpenAI',
      { usage: { inputTokens: 10, outputTokens: 5 }, providerMetadata: { openai: { serviceTier: 'flex' } } },
      { serviceTier: 'flex' },
    ],
    [
      'all steps of an AI SDK call',
      {
        usage: { inputTokens: 10, outputTokens: 5 },
        steps: [1, 2].map(() => ({
          usage: { inputTokens: 10, outputTokens: 5 },
          providerMetadata: {
            google: { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 7 } },
          },
        })),
      },
      { inputTokens: 20, outputTokens: 24, reasoningTokens: 14 },
    ],
  ])('counts %s', (_, given, usage) => {
    expect(readModelResponse({ content: 'x', model: 'm', ...given }).response.usage).toMatchObject(usage);
  });

  it('of the Responses API has its parts in `output`; its `text` is a setting', () => {
    const output = [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
      { type: 'function_call', call_id: 'c1', name: 'pay', arguments: '{"eur":5}' },
    ];
    const { response, unread } = readModelResponse({ model: 'm', text: { format: { type: 'text' } }, output });
    expect(response.content).toMatchObject([
      { type: 'text', text: 'Hello' },
      { type: 'tool_call', toolName: 'pay' },
    ]);
    expect(unread).toEqual([]);
  });

  it('from an AI SDK model has totals in its counts', () => {
    const usage = { inputTokens: { total: 10, cacheRead: 4, cacheWrite: 1 }, outputTokens: { total: 3 } };
    const read = { inputTokens: 10, outputTokens: 3, cacheReadTokens: 4, cacheWriteTokens: 1 };
    expect(readUsage(usage)).toEqual(read);
  });
});

describe('a message of a history', () => {
  it.each([
    ['text', 'hi', { role: 'user', content: 'hi' }],
    ['an OpenAI answer', CHAT_COMPLETION.choices[0]?.message, { role: 'assistant', content: [refund('call_1'), {}] }],
    ['an Anthropic answer', ANTHROPIC, { role: 'assistant', content: [HELLO, refund('toolu_1')] }],
    ['a call as an item', RESPONSE.output[2], { role: 'assistant', content: [refund('call_1')] }],
    ['its result', { type: 'function_call_output', call_id: 'call_1', output: 'ok' }, { role: 'tool', content: 'ok' }],
    ['an unknown object', { a: 1 }, { role: 'observation', content: { a: 1 } }],
  ])('is read: %s', (_what, given, message) => {
    expect(readMessage(given)).toMatchObject(message);
  });
});
