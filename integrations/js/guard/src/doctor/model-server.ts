import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isRecord, type JsonRecord, recordOf } from '../hosts/host.ts';

export interface ScriptedCall {
  readonly name: string;
  readonly input: JsonRecord;
  /** Group of the tool, on hosts that have groups. */
  readonly namespace?: string;
}

/** What the model says next. */
export interface ScriptedReply {
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
}

export interface ModelRequest {
  /** How many of the model's replies with calls the conversation holds. */
  readonly turn: number;
  /** The whole request, for scripts that tell sub-agents apart by their prompt. */
  readonly body: string;
  readonly tools: readonly string[];
}

export type ModelScript = (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>;

export interface ModelServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Tokens that every scripted reply costs, as each protocol reports them. */
export const SCRIPTED_TOKENS = { input: 800, cached: 400, output: 30 } as const;
/** A model with a price. */
export const SCRIPTED_MODEL = 'gpt-4o';

/** Starts a model on loopback that follows a script, in the protocols of Anthropic, OpenAI (both) and Google. */
export async function startModelServer(script: ModelScript): Promise<ModelServer> {
  let replies = 0;
  const server = createServer((incoming, outgoing) => {
    void reply(incoming, outgoing, script, () => ++replies).catch((error: unknown) => {
      outgoing.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function reply(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  script: ModelScript,
  next: () => number,
): Promise<void> {
  let body = '';
  incoming.setEncoding('utf8');
  for await (const part of incoming) body += part;
  const url = incoming.url ?? '';
  const json = recordOf(body === '' ? {} : JSON.parse(body));
  const send = async (protocol: Protocol) => {
    const tools = protocol.tools(json);
    const turn = protocol.turn(json);
    const said = tools.length === 0 ? { text: 'ok' } : await script({ turn, body, tools });
    const frames = protocol.frames(said, `r${next()}`);
    if (json.stream === false || (protocol === ANTHROPIC && json.stream !== true)) {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(protocol.whole(said, 'r0')));
      return;
    }
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    outgoing.end(frames.join(''));
  };
  if (incoming.method === 'POST' && /\/messages(\?|$)/.test(url)) return send(ANTHROPIC);
  if (incoming.method === 'POST' && url.endsWith('/responses')) return send(RESPONSES);
  if (incoming.method === 'POST' && url.endsWith('/chat/completions')) return send(CHAT);
  if (incoming.method === 'POST' && /:streamGenerateContent/.test(url)) return send(GEMINI);
  if (incoming.method === 'POST' && /:generateContent/.test(url)) {
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(GEMINI.whole({ text: '{}' }, 'r0')));
    return;
  }
  const answer = /count_tokens|:countTokens/.test(url)
    ? { input_tokens: 10, totalTokens: 10 }
    : { object: 'list', data: [{ id: SCRIPTED_MODEL, object: 'model' }], models: [] };
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

interface Protocol {
  readonly tools: (body: JsonRecord) => string[];
  readonly turn: (body: JsonRecord) => number;
  readonly frames: (said: ScriptedReply, id: string) => string[];
  readonly whole: (said: ScriptedReply, id: string) => object;
}

const list = (value: unknown): JsonRecord[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const names = (tools: readonly JsonRecord[]): string[] =>
  tools.flatMap((tool) => {
    const name = tool.name ?? recordOf(tool.function).name;
    return typeof name === 'string' ? [name] : [];
  });
const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const anthropicUsage = {
  input_tokens: SCRIPTED_TOKENS.input,
  cache_read_input_tokens: SCRIPTED_TOKENS.cached,
  cache_creation_input_tokens: 0,
  output_tokens: SCRIPTED_TOKENS.output,
};

const ANTHROPIC: Protocol = {
  tools: (body) => names(list(body.tools)),
  turn: (body) =>
    list(body.messages).filter(
      ({ role, content }) => role === 'assistant' && list(content).some(({ type }) => type === 'tool_use'),
    ).length,
  whole: (said, id) => ({
    ...{ id: `msg_${id}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', usage: anthropicUsage },
    content: anthropicBlocks(said, id),
    stop_reason: (said.calls ?? []).length > 0 ? 'tool_use' : 'end_turn',
  }),
  frames: (said, id) => {
    const message = { ...ANTHROPIC.whole(said, id), content: [], stop_reason: null };
    const blocks = anthropicBlocks(said, id).flatMap((block, index) => {
      const start = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
      const delta =
        block.type === 'text'
          ? { type: 'text_delta', text: block.text }
          : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
      return [
        frame({ type: 'content_block_start', index, content_block: start }, 'content_block_start'),
        frame({ type: 'content_block_delta', index, delta }, 'content_block_delta'),
        frame({ type: 'content_block_stop', index }, 'content_block_stop'),
      ];
    });
    const stop = (said.calls ?? []).length > 0 ? 'tool_use' : 'end_turn';
    return [
      frame({ type: 'message_start', message }, 'message_start'),
      ...blocks,
      frame(
        { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: anthropicUsage },
        'message_delta',
      ),
      frame({ type: 'message_stop' }, 'message_stop'),
    ];
  },
};

function anthropicBlocks({ text, calls = [] }: ScriptedReply, id: string): JsonRecord[] {
  const said: JsonRecord[] = text === undefined ? [] : [{ type: 'text', text }];
  return [...said, ...calls.map(({ name, input }, at) => ({ type: 'tool_use', id: `toolu_${id}_${at}`, name, input }))];
}

const RESPONSES: Protocol = {
  tools: (body) => [...names(list(body.tools)), ...list(body.tools).map(({ type }) => String(type))],
  // Calls of one reply follow each other without a result in between.
  turn: (body) => {
    let turns = 0;
    let wasCall = false;
    for (const { type } of list(body.input)) {
      const isCall = /_call$/.test(String(type));
      if (isCall && !wasCall) turns++;
      wasCall = isCall;
    }
    return turns;
  },
  whole: (said, id) => ({
    ...{ id: `resp_${id}`, object: 'response', status: 'completed', model: SCRIPTED_MODEL },
    output: responseItems(said, id),
    usage: {
      input_tokens: SCRIPTED_TOKENS.input + SCRIPTED_TOKENS.cached,
      input_tokens_details: { cached_tokens: SCRIPTED_TOKENS.cached },
      output_tokens: SCRIPTED_TOKENS.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: SCRIPTED_TOKENS.input + SCRIPTED_TOKENS.cached + SCRIPTED_TOKENS.output,
    },
  }),
  frames: (said, id) => {
    const response = RESPONSES.whole(said, id);
    const started = { ...response, status: 'in_progress', output: [] };
    return [
      frame({ type: 'response.created', response: started }, 'response.created'),
      ...responseItems(said, id).flatMap((item, index) => [
        frame({ type: 'response.output_item.added', output_index: index, item }, 'response.output_item.added'),
        frame({ type: 'response.output_item.done', output_index: index, item }, 'response.output_item.done'),
      ]),
      frame({ type: 'response.completed', response }, 'response.completed'),
    ];
  },
};

function responseItems({ text, calls = [] }: ScriptedReply, id: string): JsonRecord[] {
  const content = [{ type: 'output_text', text, annotations: [] }];
  const said = text === undefined ? [] : [{ type: 'message', id: `m_${id}`, role: 'assistant', content }];
  const made = calls.map(({ name, input, namespace }, at) =>
    name === 'apply_patch'
      ? { type: 'custom_tool_call', id: `c_${id}_${at}`, call_id: `call_${id}_${at}`, name, input: String(input.input) }
      : {
          ...{ type: 'function_call', id: `f_${id}_${at}`, call_id: `call_${id}_${at}`, name, namespace },
          arguments: JSON.stringify(input),
        },
  );
  return [...said, ...made];
}

const chatUsage = {
  prompt_tokens: SCRIPTED_TOKENS.input + SCRIPTED_TOKENS.cached,
  completion_tokens: SCRIPTED_TOKENS.output,
  total_tokens: SCRIPTED_TOKENS.input + SCRIPTED_TOKENS.cached + SCRIPTED_TOKENS.output,
  prompt_tokens_details: { cached_tokens: SCRIPTED_TOKENS.cached },
};

const CHAT: Protocol = {
  tools: (body) => names(list(body.tools)),
  turn: (body) => list(body.messages).filter(({ tool_calls: calls }) => list(calls).length > 0).length,
  whole: (said, id) => ({
    ...{ id: `chat_${id}`, object: 'chat.completion', created: 1, model: SCRIPTED_MODEL, usage: chatUsage },
    choices: [{ index: 0, finish_reason: chatEnd(said), message: chatMessage(said, id) }],
  }),
  frames: (said, id) => {
    const base = { id: `chat_${id}`, object: 'chat.completion.chunk', created: 1, model: SCRIPTED_MODEL };
    return [
      frame({ ...base, choices: [{ index: 0, delta: chatMessage(said, id), finish_reason: null }] }),
      frame({ ...base, choices: [{ index: 0, delta: {}, finish_reason: chatEnd(said) }] }),
      frame({ ...base, choices: [], usage: chatUsage }),
      'data: [DONE]\n\n',
    ];
  },
};

const chatEnd = ({ calls = [] }: ScriptedReply) => (calls.length > 0 ? 'tool_calls' : 'stop');

function chatMessage(
  { text = null, calls = [] }: { text?: string | null; calls?: readonly ScriptedCall[] },
  id: string,
) {
  const made = calls.map(({ name, input }, index) => ({
    ...{ index, id: `call_${id}_${index}`, type: 'function' },
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { role: 'assistant', content: text, ...(made.length === 0 ? {} : { tool_calls: made }) };
}

const GEMINI: Protocol = {
  tools: (body) => list(body.tools).flatMap((tool) => names(list(tool.functionDeclarations))),
  turn: (body) =>
    list(body.contents).filter(({ parts }) => list(parts).some(({ functionCall }) => functionCall !== undefined))
      .length,
  whole: ({ text, calls = [] }) => ({
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            ...(text === undefined ? [] : [{ text }]),
            ...calls.map(({ name, input }) => ({ functionCall: { name, args: input } })),
          ],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: SCRIPTED_TOKENS.input + SCRIPTED_TOKENS.cached,
      cachedContentTokenCount: SCRIPTED_TOKENS.cached,
      candidatesTokenCount: SCRIPTED_TOKENS.output,
      totalTokenCount: SCRIPTED_TOKENS.input + SCRIPTED_TOKENS.cached + SCRIPTED_TOKENS.output,
    },
    modelVersion: SCRIPTED_MODEL,
  }),
  frames: (said, id) => [frame(GEMINI.whole(said, id))],
};
