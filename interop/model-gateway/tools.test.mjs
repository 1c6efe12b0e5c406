// Tool calls that a rule blocks, and what the SDKs make of the answer that is left.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { SAID, say } from '../../libs/testing/src/fake-provider.ts';
import { startWorld, until } from './gateway-world.mjs';

const NAMES = ['send_money', 'get_weather'];
const MONEY = { id: 'call-1', name: 'send_money', args: { amount: 7 } };
const WEATHER = { id: 'call-2', name: 'get_weather', args: { city: 'Bern' } };
const MESSAGES = [{ role: 'user', content: 'Pay, and tell me the weather' }];
const parameters = { type: 'object', properties: {} };

/** What the program sees of an answer: its text, its tool calls, and why it ended. */
const SDKS = {
  anthropic: (url, apiKey) => {
    const client = new Anthropic({ baseURL: `${url}/gw/anthropic`, apiKey });
    const tools = NAMES.map((name) => ({ name, input_schema: parameters }));
    const body = { model: 'claude-sonnet-5', max_tokens: 100, messages: MESSAGES, tools };
    const read = ({ content, stop_reason: end }) => ({
      text: content.map(({ text = '' }) => text).join(' '),
      calls: content.flatMap(({ type, name, input }) => (type === 'tool_use' ? [[name, input]] : [])),
      end,
    });
    return {
      whole: async () => read(await client.messages.create(body)),
      helper: async () => read(await client.messages.stream(body).finalMessage()),
    };
  },
  openai: (url, apiKey) => {
    const client = new OpenAI({ baseURL: `${url}/gw/openai/v1`, apiKey });
    const tools = NAMES.map((name) => ({ type: 'function', function: { name, parameters } }));
    const body = { model: 'gpt-4.1', max_tokens: 100, messages: MESSAGES, tools };
    const read = ({ choices: [{ message, finish_reason: end }] }) => ({
      text: message.content,
      calls: (message.tool_calls ?? []).map(({ function: f }) => [f.name, JSON.parse(f.arguments)]),
      end,
    });
    return {
      whole: async () => read(await client.chat.completions.create(body)),
      helper: async () => read(await client.chat.completions.stream(body).finalChatCompletion()),
    };
  },
  'openai responses': (url, apiKey) => {
    const client = new OpenAI({ baseURL: `${url}/gw/openai/v1`, apiKey });
    const tools = NAMES.map((name) => ({ type: 'function', name, parameters, strict: false }));
    const body = { model: 'gpt-4.1', max_output_tokens: 100, input: MESSAGES, tools };
    const read = ({ output, output_text: text, status: end }) => ({
      text,
      calls: output.flatMap(({ type, name, arguments: args }) =>
        type === 'function_call' ? [[name, JSON.parse(args)]] : [],
      ),
      end,
    });
    return {
      whole: async () => read(await client.responses.create(body)),
      helper: async () => read(await client.responses.stream(body).finalResponse()),
    };
  },
  google: (url, apiKey) => {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/gw/gemini` } });
    const tools = [{ functionDeclarations: NAMES.map((name) => ({ name, parametersJsonSchema: parameters })) }];
    const body = { model: 'gemini-2.5-flash', contents: 'Pay', config: { tools } };
    const read = (chunks) => ({
      text: chunks
        .flatMap(({ candidates: [{ content }] }) => content.parts)
        .map(({ text = '' }) => text)
        .join(' '),
      calls: chunks.flatMap(({ functionCalls = [] }) => functionCalls.map(({ name, args }) => [name, args])),
      end: chunks.at(-1).candidates[0].finishReason,
    });
    return {
      whole: async () => read([await client.models.generateContent(body)]),
      helper: async () => {
        const chunks = [];
        for await (const chunk of await client.models.generateContentStream(body)) chunks.push(chunk);
        return read(chunks);
      },
    };
  },
};

/** How an answer ends that has a tool call, and one that has none. */
const ENDS = {
  anthropic: ['tool_use', 'end_turn'],
  openai: ['tool_calls', 'stop'],
  'openai responses': ['completed', 'completed'],
  google: ['STOP', 'STOP'],
};

void describe('a blocked tool call', () => {
  let world;
  before(async () => {
    world = await startWorld();
    await world.api('POST', '/api/guardrails', {
      ...{ name: 'No payments', conditionType: 'tool_name', conditionConfig: { value: 'send_money' } },
      ...{ actionType: 'block', actionConfig: { message: 'Payments need a person' }, mode: 'enforce' },
      selector: { phases: ['tool.before'], tools: ['send_money'] },
    });
  });
  after(() => world?.stop());

  for (const [name, open] of Object.entries(SDKS)) {
    void it(`never reaches a program with the SDK of ${name}, whole and through the helper for streams`, async () => {
      const client = open(world.url, await world.keyOf(`tools-${name.replace(' ', '-')}`));
      for (const ask of [client.whole, client.helper]) {
        world.provider.answer(say({ ...SAID, tools: [MONEY, WEATHER] }));
        let both;
        await until(async () => {
          both = await ask();
          return both.text.includes('was blocked');
        });
        assert.match(both.text, /The answer\s+is\s+42\.[\s\S]*Tool send_money was blocked: Payments need a person/);
        assert.deepEqual(both.calls, [['get_weather', { city: 'Bern' }]]);
        assert.equal(both.end, ENDS[name][0]);

        world.provider.answer(say({ ...SAID, tools: [MONEY] }));
        const only = await ask();
        assert.match(only.text, /was blocked/);
        assert.deepEqual(only.calls, []);
        assert.equal(only.end, ENDS[name][1]);
      }
    });
  }
});
