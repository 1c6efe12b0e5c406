// A model server that follows a script, so that everything an instrumentation reports can be compared with what the
// model said. It speaks OpenAI's chat completions and responses, and Anthropic's messages, streamed or whole.
//
// The script: asked for the weather it calls get_weather for Paris, then for Atlantis, then answers. Asked to greet, it
// greets. Asked to refuse, it answers 400.
import { createServer } from 'node:http';

const CITIES = ['Paris', 'Atlantis'];
const MODEL = { openai: 'gpt-4o-mini', anthropic: 'claude-sonnet-4-5' };
/** By tool results so far. Cached tokens are inside the input, reasoning is inside the output. */
const WEATHER_USAGE = [
  { input: 120, output: 20, cacheRead: 64, reasoning: 8 },
  { input: 180, output: 22, cacheRead: 128, reasoning: 0 },
  { input: 240, output: 30, cacheRead: 192, reasoning: 0 },
];
const GREETING_USAGE = { input: 40, output: 10, cacheRead: 0, reasoning: 0 };

/**
 * @returns {Promise<{url: string, calls: object[], close: () => Promise<void>}>} `calls` holds what the model reported,
 *   in order: `{api, stream, failed, model, toolCall, usage}`
 */
export async function startModelServer() {
  const calls = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const answer = APIS.find(({ path }) => request.url.split('?')[0].endsWith(path));
      if (answer === undefined) return response.writeHead(404).end();
      reply(answer, JSON.parse(Buffer.concat(chunks).toString()), response, calls);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    calls,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

function reply(api, body, response, calls) {
  const stream = body.stream === true;
  const said = api.read(body);
  const model = MODEL[api.maker];
  if (/refuse/i.test(said.user)) {
    calls.push({ api: api.name, stream, model, failed: true });
    const error = { type: 'invalid_request_error', message: 'The model refuses this request.' };
    return json(
      response,
      400,
      api.maker === 'openai' ? { error: { ...error, code: null, param: null } } : { type: 'error', error },
    );
  }
  const isGreeting = /greet/i.test(said.user);
  const city = isGreeting ? undefined : CITIES[said.toolResults];
  const usage = isGreeting ? GREETING_USAGE : (WEATHER_USAGE[said.toolResults] ?? WEATHER_USAGE.at(-1));
  const text = isGreeting ? 'Hello there!' : 'It is sunny in Paris; I know no Atlantis.';
  const id = `${api.prefix}${String(calls.length + 1).padStart(6, '0')}${Math.random().toString(36).slice(2, 10)}`;
  calls.push({ api: api.name, stream, model, failed: false, toolCall: city, usage });
  const turn = { id, model, usage, text, city, callId: `call_${id}` };
  if (stream) api.stream(turn, body, response);
  else json(response, 200, api.whole(turn));
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function events(response, list, named) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of list) {
    if (named) response.write(`event: ${event.type}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(named ? '' : 'data: [DONE]\n\n');
}

const argumentsOf = (city) => JSON.stringify({ city });
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join(' ');

const chatUsage = ({ input, output, cacheRead, reasoning }) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cacheRead },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

const chat = {
  name: 'chat',
  path: '/chat/completions',
  maker: 'openai',
  prefix: 'chatcmpl-',
  read: ({ messages }) => {
    const lastUser = messages.findLastIndex(({ role }) => role === 'user');
    return {
      user: textOf(messages[lastUser]?.content),
      toolResults: messages.slice(lastUser).filter(({ role }) => role === 'tool').length,
    };
  },
  whole: ({ id, model, usage, text, city, callId }) => ({
    ...{ id, object: 'chat.completion', created: 1_770_000_000, model },
    choices: [
      {
        index: 0,
        message:
          city === undefined
            ? { role: 'assistant', content: text }
            : {
                role: 'assistant',
                content: null,
                tool_calls: [
                  { id: callId, type: 'function', function: { name: 'get_weather', arguments: argumentsOf(city) } },
                ],
              },
        finish_reason: city === undefined ? 'stop' : 'tool_calls',
      },
    ],
    usage: chatUsage(usage),
  }),
  stream: ({ id, model, usage, text, city, callId }, body, response) => {
    const chunk = (delta, finish_reason = null) => ({
      ...{ id, object: 'chat.completion.chunk', created: 1_770_000_000, model },
      choices: [{ index: 0, delta, finish_reason }],
    });
    const tool = {
      index: 0,
      id: callId,
      type: 'function',
      function: { name: 'get_weather', arguments: argumentsOf(city) },
    };
    const parts =
      city === undefined ? text.split(/(?<= )/).map((content) => chunk({ content })) : [chunk({ tool_calls: [tool] })];
    const last = { ...chunk({}), choices: [], usage: chatUsage(usage) };
    events(response, [
      chunk({ role: 'assistant', content: '' }),
      ...parts,
      chunk({}, city === undefined ? 'stop' : 'tool_calls'),
      ...(body.stream_options?.include_usage === true ? [last] : []),
    ]);
  },
};

const responsesOutput = ({ id, text, city, callId }) =>
  city === undefined
    ? {
        ...{ type: 'message', id: `msg_${id}`, status: 'completed', role: 'assistant' },
        content: [{ type: 'output_text', text, annotations: [] }],
      }
    : {
        ...{ type: 'function_call', id: `fc_${id}`, call_id: callId, name: 'get_weather', status: 'completed' },
        arguments: argumentsOf(city),
      };

const responsesWhole = (turn) => ({
  ...{ id: turn.id, object: 'response', created_at: 1_770_000_000, status: 'completed', model: turn.model },
  ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true },
  ...{ temperature: 1, top_p: 1, tool_choice: 'auto', tools: [], output: [responsesOutput(turn)] },
  usage: {
    input_tokens: turn.usage.input,
    input_tokens_details: { cached_tokens: turn.usage.cacheRead },
    output_tokens: turn.usage.output,
    output_tokens_details: { reasoning_tokens: turn.usage.reasoning },
    total_tokens: turn.usage.input + turn.usage.output,
  },
});

const responses = {
  name: 'responses',
  path: '/responses',
  maker: 'openai',
  prefix: 'resp_',
  read: ({ input }) => {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const lastUser = items.findLastIndex(({ role }) => role === 'user');
    return {
      user: textOf(items[lastUser]?.content),
      toolResults: items.slice(lastUser).filter(({ type }) => type === 'function_call_output').length,
    };
  },
  whole: responsesWhole,
  stream: (turn, _body, response) => {
    const whole = responsesWhole(turn);
    const [item] = whole.output;
    const at = { output_index: 0, item_id: item.id };
    const text = { ...at, content_index: 0 };
    const part = { type: 'output_text', text: '', annotations: [] };
    const open = { ...whole, status: 'in_progress', output: [], usage: null };
    const inside =
      turn.city === undefined
        ? [
            { type: 'response.content_part.added', ...text, part },
            { type: 'response.output_text.delta', ...text, delta: turn.text, logprobs: [] },
            { type: 'response.output_text.done', ...text, text: turn.text, logprobs: [] },
            { type: 'response.content_part.done', ...text, part: item.content[0] },
          ]
        : [
            { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
            { type: 'response.function_call_arguments.done', ...at, name: item.name, arguments: item.arguments },
          ];
    const list = [
      { type: 'response.created', response: open },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      ...inside,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: whole },
    ];
    events(
      response,
      list.map((event, index) => ({ ...event, sequence_number: index })),
      true,
    );
  },
};

const anthropicUsage = ({ input, output, cacheRead }) => ({
  input_tokens: input - cacheRead,
  cache_read_input_tokens: cacheRead,
  cache_creation_input_tokens: 0,
  output_tokens: output,
});

const anthropicBlock = ({ text, city, callId }) =>
  city === undefined ? { type: 'text', text } : { type: 'tool_use', id: callId, name: 'get_weather', input: { city } };

const anthropic = {
  name: 'anthropic',
  path: '/v1/messages',
  maker: 'anthropic',
  prefix: 'msg_',
  read: ({ messages }) => {
    const blocks = (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);
    const isText = ({ role, content }) => role === 'user' && blocks(content).some(({ type }) => type === 'text');
    const lastUser = messages.findLastIndex(isText);
    const results = messages.slice(lastUser).flatMap(({ content }) => blocks(content));
    return {
      user: textOf(messages[lastUser]?.content),
      toolResults: results.filter(({ type }) => type === 'tool_result').length,
    };
  },
  whole: (turn) => ({
    ...{ id: turn.id, type: 'message', role: 'assistant', model: turn.model, stop_sequence: null },
    content: [anthropicBlock(turn)],
    stop_reason: turn.city === undefined ? 'end_turn' : 'tool_use',
    usage: anthropicUsage(turn.usage),
  }),
  stream: (turn, _body, response) => {
    const usage = anthropicUsage(turn.usage);
    const message = {
      ...{ id: turn.id, type: 'message', role: 'assistant', model: turn.model, content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
    };
    const block = anthropicBlock(turn);
    const opened = turn.city === undefined ? { type: 'text', text: '' } : { ...block, input: {} };
    const delta =
      turn.city === undefined
        ? { type: 'text_delta', text: turn.text }
        : { type: 'input_json_delta', partial_json: argumentsOf(turn.city) };
    const stop_reason = turn.city === undefined ? 'end_turn' : 'tool_use';
    const list = [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: opened },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: usage.output_tokens },
      },
      { type: 'message_stop' },
    ];
    events(response, list, true);
  },
};

const APIS = [chat, responses, anthropic];
