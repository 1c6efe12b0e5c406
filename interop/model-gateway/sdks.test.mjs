// The SDKs of OpenAI, Anthropic and Google change their base URL and key, and nothing else.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { ApiError as GoogleError, GoogleGenAI } from '@google/genai';
import OpenAI, { APIError as OpenAIError } from 'openai';
import { beginStream, SAID, say } from '../../libs/testing/src/fake-provider.ts';
import { blockAgent, countingFetch, startWorld, until } from './gateway-world.mjs';

const MESSAGES = [{ role: 'user', content: 'What is the answer?' }];

/** What a test does with each SDK. */
const SDKS = {
  anthropic: {
    statuses: { policy: 451, money: 402 },
    error: AnthropicError,
    open: (url, apiKey, fetch, run = '') => {
      const client = new Anthropic({ baseURL: `${url}/gw/anthropic${run}`, apiKey, fetch });
      const body = { model: 'claude-sonnet-5', max_tokens: 100, messages: MESSAGES };
      return {
        ask: async () => (await client.messages.create(body)).content[0].text,
        stream: async (onText) => {
          for await (const event of await client.messages.create({ ...body, stream: true })) {
            if (event.type === 'content_block_delta') onText(event.delta.text);
          }
        },
        helper: async () => (await client.messages.stream(body).finalMessage()).usage.input_tokens,
      };
    },
  },
  openai: {
    statuses: { policy: 400, money: 402 },
    error: OpenAIError,
    open: (url, apiKey, fetch, run = '') => {
      const client = new OpenAI({ baseURL: `${url}/gw/openai${run}/v1`, apiKey, fetch });
      const body = { model: 'gpt-4.1', max_tokens: 100, messages: MESSAGES };
      return {
        ask: async () => (await client.chat.completions.create(body)).choices[0].message.content,
        stream: async (onText) => {
          for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
            const text = chunk.choices[0]?.delta.content;
            if (text) onText(text);
          }
        },
        helper: async () => (await client.chat.completions.stream(body).finalChatCompletion()).choices.length,
      };
    },
  },
  'openai responses': {
    statuses: { policy: 400, money: 400 },
    error: OpenAIError,
    // The iterator passes the failure on as an event.
    stopsAsEvent: true,
    open: (url, apiKey, fetch, run = '') => {
      const client = new OpenAI({ baseURL: `${url}/gw/openai${run}/v1`, apiKey, fetch });
      const body = { model: 'gpt-4.1', max_output_tokens: 100, input: MESSAGES };
      return {
        ask: async () => (await client.responses.create(body)).output_text,
        stream: async (onText) => {
          for await (const event of await client.responses.create({ ...body, stream: true })) {
            if (event.type === 'response.output_text.delta') onText(event.delta);
            if (event.type === 'response.failed') return event.response.error;
          }
        },
        helper: async () => (await client.responses.stream(body).finalResponse()).usage.input_tokens,
      };
    },
  },
  google: {
    statuses: { policy: 400, money: 402 },
    error: GoogleError,
    // It repeats nothing unless it is asked to.
    tries: 1,
    open: (url, apiKey, fetch, run = '') => {
      // It takes no fetch of its own.
      globalThis.fetch = fetch;
      const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/gw/gemini${run}` } });
      const body = {
        model: 'gemini-2.5-flash',
        contents: 'What is the answer?',
        config: { maxOutputTokens: 100, automaticFunctionCalling: { disable: true } },
      };
      return {
        ask: async () => (await client.models.generateContent(body)).text,
        stream: async (onText) => {
          for await (const chunk of await client.models.generateContentStream(body)) if (chunk.text) onText(chunk.text);
        },
        helper: async () => (await client.models.generateContent(body)).usageMetadata.promptTokenCount,
      };
    },
  },
};

void describe('the model gateway', () => {
  let world;
  before(async () => {
    world = await startWorld();
  });
  after(() => world?.stop());

  for (const [name, sdk] of Object.entries(SDKS)) {
    void describe(`with the SDK of ${name}`, () => {
      const agents = name.replace(' ', '-');
      const openFor = async (agent, run) => {
        const fetch = countingFetch();
        const client = sdk.open(world.url, await world.keyOf(agent), fetch, run);
        return { ...client, fetch };
      };

      void it('answers whole, streamed, and through the helper for streams', async () => {
        world.provider.answer(say(SAID));
        const { ask, stream, helper } = await openFor(`${agents}-plain`);
        assert.equal(await ask(), 'The answer is 42.');
        let text = '';
        await stream((piece) => {
          text += piece;
        });
        assert.equal(text, 'The answer is 42.');
        assert.ok((await helper()) > 0);
      });

      void it('is refused once with the message, when a rule blocks', async () => {
        const { ask, stream, fetch } = await openFor(`${agents}-blocked`);
        await blockAgent(world, `${agents}-blocked`, () =>
          ask().then(
            () => 200,
            (error) => error.status,
          ),
        );
        const asked = world.provider.requests.length;
        for (const call of [ask, () => stream(() => undefined)]) {
          fetch.sent = 0;
          const error = await call().catch((thrown) => thrown);
          assert.ok(error instanceof sdk.error, String(error));
          assert.equal(error.status, sdk.statuses.policy);
          assert.match(error.message, /Calls of this agent are not allowed/);
          assert.equal(fetch.sent, 1);
        }
        assert.equal(world.provider.requests.length, asked);
      });

      void it('is refused once with 402, when a budget is spent', async () => {
        const agent = `${agents}-poor`;
        const budget = { name: agent, scope: 'agent', scopeId: agent, period: 'day', limitUsd: 0.000001 };
        await world.api('POST', '/api/budgets', budget);
        const { ask, fetch } = await openFor(agent);
        let error;
        await until(async () => {
          fetch.sent = 0;
          error = await ask().catch((thrown) => thrown);
          return error?.status === sdk.statuses.money;
        });
        assert.equal(fetch.sent, 1);
      });

      void it('learns once that its run was killed inside a stream, and its next call costs nothing', async () => {
        const run = `${agents}-killed`;
        const { ask, stream, fetch } = await openFor(`${agents}-streaming`, `/run/${run}`);
        world.provider.answer(beginStream(['One ', 'two']));
        const left = world.provider.left();
        let killed = Promise.resolve();
        const error = await stream((piece) => {
          if (!piece.includes('two')) return;
          killed = world.api('POST', '/api/control', { scope: 'run', scopeId: run, state: 'killed', reason: 'Enough' });
        }).catch((thrown) => thrown);
        await killed;
        await left;
        if (sdk.stopsAsEvent !== true) assert.ok(error instanceof sdk.error, String(error));
        assert.match(error.message, /Enough/);
        assert.equal(fetch.sent, 1);

        const asked = world.provider.requests.length;
        const next = await ask().catch((thrown) => thrown);
        assert.equal(next.status, sdk.statuses.policy);
        assert.equal(fetch.sent, 2);
        assert.equal(world.provider.requests.length, asked);
      });

      void it('keeps its own retries for errors of the provider', async () => {
        world.provider.answer((_request, response) => {
          response.writeHead(429, { 'content-type': 'application/json', 'retry-after-ms': '1' });
          response.end(JSON.stringify({ error: { message: 'Slow down', type: 'rate_limit_error' } }));
        });
        const { ask, fetch } = await openFor(`${agents}-limited`);
        const error = await ask().catch((thrown) => thrown);
        assert.equal(error.status, 429);
        assert.match(error.message, /Slow down/);
        assert.equal(fetch.sent, sdk.tries ?? 3);
      });

      void it('hides that the provider rejects the key of the connection behind 502', async () => {
        world.provider.answer((_request, response) => {
          response.writeHead(401, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ error: { message: 'invalid key provider-key' } }));
        });
        const { ask, fetch } = await openFor(`${agents}-rejected`);
        const error = await ask().catch((thrown) => thrown);
        assert.equal(error.status, 502);
        assert.doesNotMatch(error.message, /provider-key/);
        assert.equal(fetch.sent, 1);
      });
    });
  }
});
