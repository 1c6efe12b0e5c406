import { describe, expect, it } from '@jest/globals';
import type { JsonObject, TranslatedEvent } from '@agentlens/contracts';
import { eventsOf, RECORDINGS, type Recording, recordingOf, spansOf } from './recordings.testing.ts';

/** Summary of one conversation of an agent. */
interface RunSummary {
  readonly modelCalls: number;
  readonly failedCalls: number;
  readonly tools: readonly string[];
  readonly failedTools: readonly string[];
  readonly errors: number;
  readonly tokens: readonly [input: number, output: number, cacheRead: number];
  readonly unpriced: number;
  readonly duplicates: number;
  readonly ends: readonly string[];
}

/** Summarizes runs in the order they began. */
function summariesOf(events: readonly TranslatedEvent[]): readonly RunSummary[] {
  const runs = new Map<string, TranslatedEvent[]>();
  for (const event of events) runs.set(event.facts.runId, [...(runs.get(event.facts.runId) ?? []), event]);
  const began = (of: readonly TranslatedEvent[]) => of.map(({ timestamp }) => timestamp ?? '').sort()[0] ?? '';
  return [...runs.values()]
    .sort((a, b) => (began(a) < began(b) ? -1 : 1))
    .map((of) => summaryOf(of.map(({ facts }) => facts)));
}

type Facts = TranslatedEvent['facts'];

function summaryOf(facts: readonly Facts[]): RunSummary {
  const models = facts.filter(({ kind }) => kind === 'llm.completed');
  const tools = facts.filter(({ kind }) => kind === 'tool.completed');
  const sum = (name: 'inputTokens' | 'outputTokens' | 'cacheReadTokens') =>
    facts.reduce((all, { usage }) => all + (usage?.[name] ?? 0), 0);
  return {
    modelCalls: models.length,
    failedCalls: models.filter(({ isError }) => isError).length,
    tools: tools.map(cityOf),
    failedTools: tools.filter(({ isError }) => isError).map(cityOf),
    errors: facts.filter(({ isError }) => isError).length,
    tokens: [sum('inputTokens'), sum('outputTokens'), sum('cacheReadTokens')],
    unpriced: facts.filter(({ usage }) => usage?.costSource === 'unpriced').length,
    duplicates: facts.filter(({ sourceType }) => sourceType === 'duplicate_model_call').length,
    ends: facts
      .filter(({ kind }) => kind === 'run.ended')
      .map(({ payload, outcome }) => `${String(payload.by)} ${outcome}`),
  };
}

function cityOf({ payload }: Facts): string {
  const { city, value } = (payload.arguments ?? {}) as JsonObject;
  return typeof city === 'string' ? city : String(value);
}

/**
 * The three conversations as an agent should report them: a question that needs two tool calls, a greeting, a
 * rejection.
 */
const QUESTION: RunSummary = {
  modelCalls: 3,
  failedCalls: 0,
  tools: ['Paris', 'Atlantis'],
  failedTools: ['Atlantis'],
  errors: 1,
  tokens: [540, 72, 384],
  unpriced: 0,
  duplicates: 0,
  ends: ['root_agent succeeded'],
};
const GREETING: RunSummary = {
  ...{ modelCalls: 1, failedCalls: 0, tools: [], failedTools: [], errors: 0, tokens: [40, 10, 0] },
  ...{ unpriced: 0, duplicates: 0, ends: ['root_agent succeeded'] },
};
/** The failed call and the root above it. */
const REFUSAL: RunSummary = {
  ...GREETING,
  ...{ failedCalls: 1, errors: 2, tokens: [0, 0, 0], unpriced: 1, ends: ['root_agent failed'] },
};

/** An instrumentation of only the client reports no tools; the user's own spans around the calls are the roots. */
const clientOnly = (run: RunSummary): RunSummary => ({
  ...run,
  ...{ tools: [], failedTools: [], errors: run.failedCalls, ends: ['root succeeded'] },
});
const withoutCache = (run: RunSummary): RunSummary => ({ ...run, tokens: [run.tokens[0], run.tokens[1], 0] });

const EXPECTED: Readonly<Record<string, readonly RunSummary[]>> = {
  'ai-sdk-7': [QUESTION, GREETING, REFUSAL],
  'ai-sdk-6': [QUESTION, GREETING, REFUSAL],
  // generateText of version 5 does not report cached tokens.
  'ai-sdk-5': [withoutCache(QUESTION), GREETING, REFUSAL],
  'pydantic-ai': [QUESTION, GREETING, REFUSAL],
  // The root succeeds although the agent below it failed, and does not count as an error.
  'openai-agents-openinference': [
    { ...QUESTION, ends: ['agent succeeded', 'root succeeded'] },
    { ...GREETING, ends: ['agent succeeded', 'root succeeded'] },
    { ...REFUSAL, errors: 1, ends: ['agent failed', 'root succeeded'] },
  ],
  'langgraph-openinference': [
    { ...QUESTION, ends: ['root succeeded'] },
    { ...GREETING, ends: ['root succeeded'] },
    { ...REFUSAL, ends: ['root failed'] },
  ],
  'openai-v2-latest': [clientOnly(QUESTION), clientOnly(GREETING), clientOnly(REFUSAL)].map(withoutCache),
  'openai-v2-2.1': [clientOnly(QUESTION), clientOnly(GREETING), clientOnly(REFUSAL)].map(withoutCache),
  // Does not report the usage of a stream: that call is unpriced, not free.
  'openllmetry-0.40': [
    clientOnly(QUESTION),
    { ...clientOnly(GREETING), tokens: [0, 0, 0], unpriced: 1 },
    clientOnly(REFUSAL),
  ],
  'anthropic-twice': [
    { ...clientOnly(QUESTION), duplicates: 3 },
    { ...clientOnly(GREETING), duplicates: 1 },
  ],
  strands: [QUESTION, GREETING, REFUSAL],
};

/** Reports calls of a client that also traces itself. Which of the two counts depends on which arrives first. */
const BESIDE = 'opentelemetry.instrumentation.anthropic';

describe('recorded agents', () => {
  it('all have an expectation', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual([...RECORDINGS].sort());
  });

  it.each(Object.entries(EXPECTED))(
    '%s: every conversation is one run with its calls, tokens and errors',
    (agent, runs) => {
      expect(summariesOf(eventsOf(spansOf(recordingOf(agent))))).toEqual(runs);
    },
  );

  it.each(RECORDINGS)('%s: the model calls are those that the model answered', (agent) => {
    const recording = recordingOf(agent);
    const calls = eventsOf(spansOf(recording)).filter(({ facts }) => facts.kind === 'llm.completed');
    expect(calls).toHaveLength(recording.model.length);
    const reported = tokensOf(recording);
    for (const { facts } of calls) {
      if (facts.usage?.totalTokens !== undefined) expect(reported).toContain(facts.usage.totalTokens);
    }
  });

  it.each(RECORDINGS)('%s: events do not depend on the order or repetition of spans', (agent) => {
    const spans = spansOf(recordingOf(agent)).filter(({ scope }) => scope.name !== BESIDE);
    const byId = (events: readonly TranslatedEvent[]) => new Map(events.map((event) => [event.clientId, event]));
    const once = byId(eventsOf(spans));
    expect(byId(eventsOf([...spans].reverse()))).toEqual(once);
    expect(byId(eventsOf([...spans, ...spans]))).toEqual(once);
  });

  it.each(RECORDINGS)('%s: the agent is the service, and its model has a provider', (agent) => {
    for (const { facts } of eventsOf(spansOf(recordingOf(agent)))) {
      expect(facts.agentId).toBe(agent);
      if (facts.model?.startsWith('gpt') === true) expect(facts.provider).toBe('openai');
    }
  });

  it('hold no text of a conversation without content', () => {
    for (const agent of RECORDINGS) {
      const events = eventsOf(spansOf(recordingOf(agent)), { content: 'none' });
      expect(JSON.stringify(events)).not.toMatch(/Please greet me|sunny in/);
    }
  });
});

describe('the fields of a recorded call', () => {
  const first = (agent: string, kind: string) =>
    eventsOf(spansOf(recordingOf(agent))).find(({ facts }) => facts.kind === kind)?.facts;

  it('are the same for a tool call in every vocabulary', () => {
    for (const agent of ['ai-sdk-7', 'ai-sdk-5', 'pydantic-ai', 'openai-agents-openinference', 'strands']) {
      expect(first(agent, 'tool.completed')).toMatchObject({
        toolName: 'get_weather',
        sourceType: 'tool_response',
        payload: { toolName: 'get_weather', arguments: { city: 'Paris' } },
      });
    }
  });

  it('hold the text of a conversation if the source reports it', () => {
    expect(first('ai-sdk-7', 'llm.completed')?.payload).toMatchObject({
      model: 'gpt-4o-mini',
      finishReason: 'tool-calls',
      messages: [{ role: 'user' }],
      usage: { inputTokens: 120, cacheReadTokens: 64, outputTokens: 20, totalTokens: 140 },
    });
  });

  it('include session and user on every event, because the root that names them may never arrive', () => {
    for (const { facts } of eventsOf(spansOf(recordingOf('ai-sdk-6')))) {
      expect(facts).toMatchObject({ sessionId: 'session-1', actorId: 'user-1', tags: ['interop'] });
    }
  });

  it('include the cost that the source reported', () => {
    expect(first('pydantic-ai', 'llm.completed')?.usage?.costSource).toBe('reported');
  });

  it('price cached tokens as part of the input', () => {
    const { usage } = first('anthropic-twice', 'llm.completed') ?? {};
    expect(usage).toMatchObject({ inputTokens: 120, cacheReadTokens: 64, totalTokens: 140, costSource: 'priced' });
    expect(usage?.costUsd).toBeCloseTo((140 - 0.9 * 64) / 1e6, 12);
  });
});

function tokensOf({ model }: Recording): readonly number[] {
  return model.map(({ usage }) => (usage?.input ?? 0) + (usage?.output ?? 0));
}
