import { describe, expect, it } from '@jest/globals';
import { PRICES } from './recordings.testing.ts';
import type { OtlpSpan } from './span.ts';
import { type OtlpContext, readSpan, translateSpan } from './translate.ts';

const TRACE = 'a'.repeat(32);

function span(attributes: Readonly<Record<string, unknown>>, fields: Partial<OtlpSpan> = {}): OtlpSpan {
  return {
    traceId: TRACE,
    spanId: 'b'.repeat(16),
    parentSpanId: 'c'.repeat(16),
    name: 'span',
    startMs: 1_000,
    endMs: 3_000,
    durationMs: 2_000,
    attributes: new Map(Object.entries(attributes)),
    events: [],
    linkedTraceIds: [],
    failed: false,
    statusMessage: '',
    droppedAttributes: 0,
    resource: { attributes: new Map([['service.name', 'shop']]) },
    scope: { name: 'test', version: '' },
    ...fields,
  };
}

const CONTEXT: OtlpContext = { prices: PRICES, agentId: undefined, content: 'last', keepSteps: false };
const eventsOf = (one: OtlpSpan, context: Partial<OtlpContext> = {}) =>
  translateSpan(readSpan(one), { ...CONTEXT, ...context });
const factsOf = (one: OtlpSpan, context: Partial<OtlpContext> = {}) => eventsOf(one, context).map(({ facts }) => facts);
const kindsOf = (one: OtlpSpan, context: Partial<OtlpContext> = {}) => factsOf(one, context).map(({ kind }) => kind);
const root = { parentSpanId: undefined };
const chat = { 'gen_ai.operation.name': 'chat' };
const agent = { 'gen_ai.operation.name': 'invoke_agent' };

describe('a span becomes', () => {
  it.each([
    ['a model call', chat, {}, ['llm.completed']],
    ['a model call that is a run', chat, root, ['llm.completed', 'run.started', 'run.ended']],
    ['an embedding', { 'gen_ai.operation.name': 'embeddings' }, {}, ['cost.recorded']],
    ['a tool call', { 'gen_ai.operation.name': 'execute_tool' }, {}, ['tool.completed']],
    ['the end of an agent with a name', { ...agent, 'gen_ai.agent.name': 'shopper' }, {}, ['run.ended']],
    ['nothing, an agent without a name inside a trace', agent, {}, []],
    ['the run of an agent', agent, root, ['run.started', 'run.ended']],
    ['nothing, the registration of an agent', { 'gen_ai.operation.name': 'create_agent' }, root, []],
    ['a retrieval', { 'openinference.span.kind': 'RETRIEVER' }, {}, ['custom.recorded']],
    ['nothing, a step', { 'openinference.span.kind': 'CHAIN' }, {}, []],
    ['nothing, what is about no model', { 'http.request.method': 'GET' }, root, []],
  ])('%s', (_, attributes, fields, kinds) => {
    expect(kindsOf(span(attributes, fields))).toEqual(kinds);
  });

  it('a step where steps are kept', () => {
    expect(factsOf(span({ 'openinference.span.kind': 'CHAIN' }), { keepSteps: true })).toMatchObject([
      { kind: 'custom.recorded', sourceType: 'chain_step', payload: { name: 'span', durationMs: 2_000 } },
    ]);
  });

  it('the run of its trace where it is a root about no model in a trace of an agent', () => {
    expect(kindsOf(span({}, root), { isTraceOfAgent: true })).toEqual(['run.started', 'run.ended']);
    expect(kindsOf(span({}), { isTraceOfAgent: true })).toEqual([]);
  });

  it('a child of the run whose trace its root links to', () => {
    const [, started, ended] = factsOf(
      span(chat, { ...root, linkedTraceIds: [TRACE, 'd'.repeat(32), 'e'.repeat(32)] }),
    );
    expect([started?.parentRunId, ended?.parentRunId]).toEqual(['d'.repeat(32), undefined]);
  });

  it('events with ids and times of its own alone, each with another id', () => {
    const events = eventsOf(span(chat, root));
    expect(events.map(({ timestamp }) => timestamp)).toEqual([
      '1970-01-01T00:00:03.000Z',
      '1970-01-01T00:00:01.000Z',
      '1970-01-01T00:00:03.000Z',
    ]);
    expect(new Set(events.map(({ clientId }) => clientId)).size).toBe(3);
    const elsewhere = span(chat, {
      ...root,
      resource: { attributes: new Map() },
      attributes: new Map([...span(chat).attributes]),
    });
    expect(eventsOf(elsewhere).map(({ clientId }) => clientId)).toEqual(events.map(({ clientId }) => clientId));
  });
});

describe('who acted', () => {
  const first = (attributes: object, resource: object = {}, context: Partial<OtlpContext> = {}) =>
    factsOf(
      span(
        { ...chat, ...attributes },
        { resource: { attributes: new Map(Object.entries({ 'service.name': 'shop', ...resource })) } },
      ),
      context,
    )[0];

  it('is the agent that the resource names, then the header, then the service', () => {
    expect(first({})?.agentId).toBe('shop');
    expect(first({}, {}, { agentId: 'buyer' })?.agentId).toBe('buyer');
    expect(first({}, { 'agentlens.agent.id': 'seller' }, { agentId: 'buyer' })?.agentId).toBe('seller');
    expect(first({}, { 'service.name': 'unknown_service:node' })?.agentId).toBe('unknown_service');
  });

  it('is in the session of the user before one that a framework made up', () => {
    expect(first({ 'gen_ai.conversation.id': 'made-up', 'session.id': 's-1' })?.sessionId).toBe('s-1');
    expect(first({ 'gen_ai.conversation.id': 'made-up' })?.sessionId).toBe('made-up');
    expect(first({ metadata: '{"thread_id": "t-1"}' })?.sessionId).toBe('t-1');
  });

  it('is a run by its trace, or by the name it was given', () => {
    expect(first({})?.runId).toBe(TRACE);
    expect(first({}, { 'agentlens.run.id': 'order-7' })).toMatchObject({
      runId: 'order-7',
      metadata: { otlp: { traceId: TRACE } },
    });
  });

  it('has tags from wherever they are, and its environment', () => {
    const tags = first(
      { 'tag.tags': ['a', 7, 'a'], 'langsmith.span.tags': 'b, c' },
      { 'deployment.environment.name': 'prod' },
    )?.tags;
    expect(tags).toEqual(['a', '7', 'b', 'c', 'env:prod']);
  });

  it('names are cleaned so that they can be stored', () => {
    expect(first({ 'user.id': 'a\u0000b\n' })?.actorId).toBe('ab');
    expect(first({ 'user.id': ' ' })?.actorId).toBeUndefined();
    expect(first({ 'session.id': 'x'.repeat(300) })?.sessionId).toHaveLength(256);
  });
});

describe('the arguments of a tool call', () => {
  it.each([
    ['{"city":"Paris"}', { city: 'Paris' }],
    ['Paris', { value: 'Paris' }],
    ['["Paris"]', { value: ['Paris'] }],
    ['{"inputs":{"city":"Paris"},"tags":[]}', { city: 'Paris' }],
    ['{"input_str":"{\'city\': \'Paris\'}"}', { city: 'Paris' }],
    ['{"input_str":"what\'s up"}', { value: "what's up" }],
  ])('%s are %j', (sent, args) => {
    const [call] = factsOf(span({ 'traceloop.span.kind': 'tool', 'traceloop.entity.input': sent }));
    expect(call?.payload.arguments).toEqual(args);
  });
});

describe('what a provider is', () => {
  it.each([
    ['openai.chat', 'openai'],
    ['OpenAI', 'openai'],
    ['aws.bedrock', 'aws'],
    ['langchain', 'unknown'],
    ['shop', 'unknown'],
  ])('%s stands for %s', (sent, provider) => {
    const [call] = factsOf(span({ ...chat, 'gen_ai.system': sent, 'gen_ai.request.model': 'house-model' }));
    expect(call?.provider).toBe(provider);
  });
});

describe('a failure', () => {
  const failed = { failed: true, statusMessage: 'x'.repeat(5_000) };

  it('is an error of calls and roots, and of no agent between', () => {
    expect(factsOf(span(chat, failed))[0]?.isError).toBe(true);
    expect(factsOf(span(agent, { ...failed, ...root })).map(({ isError }) => isError)).toEqual([false, true]);
    expect(factsOf(span({ ...agent, 'gen_ai.agent.name': 'shopper' }, failed))).toMatchObject([
      { isError: false, outcome: 'failed' },
    ]);
  });

  it('counts once where the root is the call itself', () => {
    expect(factsOf(span(chat, { ...failed, ...root })).filter(({ isError }) => isError)).toHaveLength(1);
  });

  it('is told by its exception, else by its status, cut', () => {
    const exception = {
      name: 'exception',
      attributes: new Map([
        ['exception.message', 'no such city'],
        ['exception.type', 'ValueError'],
        ['exception.stacktrace', 'at line 1'],
      ]),
    };
    expect(factsOf(span(chat, { ...failed, events: [exception] }))[0]?.payload).toMatchObject({
      error: 'no such city',
      errorCode: 'ValueError',
      stackTrace: 'at line 1',
    });
    expect(String(factsOf(span(chat, failed))[0]?.payload.error)).toHaveLength(2_001);
  });
});

describe('the words of a conversation', () => {
  const said = (content: OtlpContext['content']) =>
    factsOf(
      span({
        ...chat,
        'gen_ai.input.messages': JSON.stringify([
          { role: 'system', content: 'be kind' },
          { role: 'user', content: 'one' },
          { role: 'assistant', content: 'two' },
          { role: 'user', content: 'three' },
        ]),
        'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'four' }] }]),
      }),
      { content },
    )[0]?.payload;

  it('are what is new in a call, with the count and the digest of the rest', () => {
    expect(said('last')).toMatchObject({
      messages: [{ role: 'user', content: 'three' }],
      earlierMessages: { count: 3, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      completion: 'four',
    });
  });

  it('are all of it, or nothing, where that is wanted', () => {
    expect(said('all')?.messages).toHaveLength(4);
    expect(JSON.stringify(said('none'))).not.toMatch(/three|four/);
  });

  it('that are no JSON stay text', () => {
    const [call] = factsOf(span({ ...chat, 'gen_ai.input.messages': '[broken' }));
    expect(call?.payload.messages).toEqual([{ content: '[broken' }]);
  });
});
