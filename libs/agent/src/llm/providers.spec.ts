import { describe, expect, it } from '@jest/globals';
import { AgentError } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import { Message } from '../core/message.ts';
import { seededEffects } from '../effects/seeded-effects.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { type AiSdkModel, fromAiSdkModel } from './ai-sdk-model.ts';
import { providerPool } from './fallback.ts';
import {
  byCost,
  byLatency,
  byPriority,
  costOf,
  knownCost,
  type ModelProvider,
  ProviderHealth,
} from './model-provider.ts';

const need = { tools: false, thinking: false, inputTokens: 1 };
const provider = (id: string, more: Partial<ModelProvider> = {}): ModelProvider => ({
  id,
  client: new ScriptedModel([]),
  ...more,
});
const ids = (providers: readonly ModelProvider[]) => providers.map(({ id }) => id);

describe('the order of providers', () => {
  it('is by priority, by cost or by latency, and otherwise list order', () => {
    const health = new ProviderHealth();
    health.succeeded('a', 300);
    health.succeeded('b', 100);
    const list = [
      provider('a', { price: { input: 1, output: 1 } }),
      provider('b', { priority: 1 }),
      provider('c', { price: { input: 0.1, output: 0.1 } }),
    ];
    expect(ids(byPriority(list, need, health))).toEqual(['b', 'a', 'c']);
    expect(ids(byCost(list, need, health))).toEqual(['c', 'a', 'b']);
    expect(ids(byLatency(list, need, health))).toEqual(['c', 'b', 'a']);
  });
});

describe('a failing provider', () => {
  function pool(steps: readonly ScriptStep[], health = new ProviderHealth()) {
    const effects = seededEffects({ seed: 1 });
    const events: DriverEvent[] = [];
    const model = new ScriptedModel(steps);
    const make = () =>
      providerPool({
        providers: [{ id: 'one', client: model }],
        retry: { tries: 2, minMs: 1_000, maxMs: 1_000 },
        health,
      })({ effects, emit: (event) => events.push(event) });
    return { effects, events, model, ask: () => make().call('hi') };
  }

  it('is retried after the time it names', async () => {
    const busy = new AgentError('model_rate_limited', 'busy', { info: { retryAfterMs: 7_000 } });
    const { effects, events, ask } = pool([{ error: busy }, { text: 'ok' }]);
    const before = effects.now();
    expect(await ask()).toMatchObject({ content: [{ text: 'ok' }] });
    expect(effects.now() - before).toBeGreaterThanOrEqual(7_000);
    expect(events).toContainEqual(expect.objectContaining({ type: 'retry', waitMs: 7_000, attempt: 1 }));
  });

  it('is not retried for a faulty request or after a wait that is too long', async () => {
    const wrong = pool([{ error: 'model_invalid_request' }, { text: 'never' }]);
    await expect(wrong.ask()).rejects.toMatchObject({ code: 'model_invalid_request' });
    const patient = pool([
      { error: new AgentError('model_rate_limited', 'busy', { info: { retryAfterMs: 3_600_000 } }) },
      { text: 'never' },
    ]);
    await expect(patient.ask()).rejects.toMatchObject({ code: 'model_rate_limited' });
    expect([wrong.model.requests.length, patient.model.requests.length]).toEqual([1, 1]);
  });

  it('falls back to the next one after a custom error too, and its event reports that', async () => {
    const events: DriverEvent[] = [];
    const effects = seededEffects({ seed: 1 });
    const broken = {
      call: async () => {
        throw new TypeError('fetch failed');
      },
    };
    const model = providerPool({
      providers: [
        provider('own', { client: broken, priority: 1 }),
        provider('next', { client: new ScriptedModel([{ text: 'ok' }]) }),
      ],
    })({ effects, emit: (event) => void events.push(event) });
    expect(await model.call([Message.user('hi')])).toMatchObject({ content: [{ text: 'ok' }] });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'provider-selected',
        provider: 'next',
        rejected: { own: 'own failed: fetch failed' },
      }),
    );
    const alone = providerPool({ providers: [provider('own', { client: broken })] })({
      effects,
      emit: () => undefined,
    });
    await expect(alone.call([Message.user('hi')])).rejects.toMatchObject({
      code: 'model_unavailable',
      message: 'own failed: fetch failed',
    });
  });

  it('is skipped after three failures in a row and retried later', async () => {
    const failing = Array.from({ length: 3 }, () => ({ error: 'model_unauthorized' }) as const);
    const { effects, model, ask } = pool([...failing, { text: 'back' }]);
    for (let call = 0; call < 3; call++) await expect(ask()).rejects.toMatchObject({ code: 'model_unauthorized' });
    await expect(ask()).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining('one failed repeatedly'),
    });
    expect(model.requests).toHaveLength(3);
    await effects.sleep(30_001);
    expect(await ask()).toMatchObject({ content: [{ text: 'back' }] });
  });
});

describe('a price', () => {
  const usage = {
    inputTokens: 1_000_000,
    outputTokens: 100_000,
    cacheReadTokens: 400_000,
    cacheWriteTokens: 0,
    total: 1_100_000,
    children: 0,
  };
  it('counts cached tokens separately', () => {
    expect(costOf({ input: 10, output: 50, cacheRead: 1 }, usage)).toBeCloseTo(6 + 0.4 + 5);
  });

  it('is known only for known models', async () => {
    expect(await knownCost('gpt-4o', usage)).toBeGreaterThan(0);
    expect(await knownCost('openai/gpt-4o', usage)).toBe(await knownCost('gpt-4o', usage));
    expect(await knownCost('no-such-model', usage)).toBeUndefined();
  });
});

describe('an AI SDK model', () => {
  it('receives its thinking back', async () => {
    const prompts: unknown[] = [];
    const metadata = { anthropic: { signature: 'sig' } };
    const parts = [
      ...[
        { type: 'reasoning-start', id: '1' },
        { type: 'reasoning-delta', id: '1', delta: 'hm' },
        { type: 'reasoning-end', id: '1', providerMetadata: metadata },
      ],
      ...[
        { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: '{"n":1}' },
        {
          type: 'finish',
          finishReason: 'tool-calls',
          usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 },
        },
      ],
    ];
    const stub: AiSdkModel = {
      ...{ specificationVersion: 'v2', provider: 'stub', modelId: 'm' },
      doStream: async (options: { readonly prompt: unknown }) => {
        prompts.push(options.prompt);
        return { stream: ReadableStream.from(parts) };
      },
    };
    const model = fromAiSdkModel(stub);
    const first = await model.call('hi');
    expect(first).toMatchObject({
      stopReason: 'tool_use',
      usage: { inputTokens: 3, outputTokens: 2, cacheReadTokens: 1 },
    });
    await model.call([
      Message.user('hi'),
      Message.assistant(first.content),
      Message.user([{ type: 'tool_result', toolUseId: 'a', name: 'add', content: 2, isError: false }]),
    ]);
    expect(prompts[1]).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: metadata },
          { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: { n: 1 } },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'add', output: { type: 'json', value: 2 } }],
      },
    ]);
  });

  it.each([
    [{ type: 'finish', finishReason: 'unknown', usage: {} }],
    [{ type: 'finish', finishReason: { unified: 'other' }, usage: {} }],
    [{ type: 'finish', finishReason: { unified: 'interrupted' }, usage: {} }],
  ])('counts as truncated after an unknown finish reason: %j', async (finish) => {
    const stub: AiSdkModel = {
      ...{ specificationVersion: 'v4', provider: 'stub', modelId: 'm' },
      doStream: async () => ({ stream: ReadableStream.from([{ type: 'text-delta', id: '1', delta: 'half' }, finish]) }),
    };
    await expect(fromAiSdkModel(stub).call('hi')).rejects.toMatchObject({ code: 'model_cut_off' });
  });

  it('with another specification is rejected', () => {
    const old = {
      specificationVersion: 'v1',
      provider: 'stub',
      modelId: 'm',
      doStream: async () => ({ stream: ReadableStream.from([]) }),
    };
    expect(() => fromAiSdkModel(old as unknown as AiSdkModel)).toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
  });
});
