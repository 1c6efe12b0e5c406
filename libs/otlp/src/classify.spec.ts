import { describe, expect, it } from '@jest/globals';
import { classify } from './classify.ts';

const of = (attributes: Record<string, unknown>) => classify(new Map(Object.entries(attributes)));

describe('a span', () => {
  it.each([
    [{ 'gen_ai.operation.name': 'chat' }, 'model_call'],
    [{ 'gen_ai.operation.name': 'generate_content' }, 'model_call'],
    [{ 'gen_ai.operation.name': 'acompletion' }, 'model_call'],
    [{ 'gen_ai.operation.name': 'aresponses' }, 'model_call'],
    [{ 'gen_ai.operation.name': 'anthropic_messages' }, 'model_call'],
    [{ 'gen_ai.operation.name': 'aembedding' }, 'embedding'],
    [{ 'openinference.span.kind': 'LLM' }, 'model_call'],
    [{ 'ai.operationId': 'ai.streamText.doStream' }, 'model_call'],
    [{ 'ai.operationId': 'ai.generateObject.doGenerate' }, 'model_call'],
    [{ 'llm.request.type': 'completion' }, 'model_call'],
    [{ 'langsmith.span.kind': 'llm', 'gen_ai.operation.name': 'chain' }, 'model_call'],
    [{ 'gen_ai.operation.name': 'embeddings' }, 'embedding'],
    [{ 'ai.operationId': 'ai.embedMany.doEmbed' }, 'embedding'],
    [{ 'gen_ai.operation.name': 'execute_tool' }, 'tool_call'],
    [{ 'traceloop.span.kind': 'tool' }, 'tool_call'],
    [{ 'ai.operationId': 'ai.toolCall' }, 'tool_call'],
    [{ 'mcp.method.name': 'tools/call' }, 'tool_call'],
    [{ 'gen_ai.operation.name': 'invoke_agent' }, 'agent'],
    [{ 'openinference.span.kind': 'AGENT' }, 'agent'],
    [{ 'traceloop.span.kind': 'workflow' }, 'agent'],
    [{ 'ai.operationId': 'ai.streamText' }, 'agent'],
    [{ 'gen_ai.operation.name': 'create_agent' }, 'registration'],
    [{ 'openinference.span.kind': 'CHAIN' }, 'step'],
    [{ 'gen_ai.operation.name': 'agent_step' }, 'step'],
    [{ 'traceloop.span.kind': 'task' }, 'step'],
    [{ 'mcp.method.name': 'initialize' }, 'step'],
    [{ 'ai.operationId': 'ai.embed' }, 'step'],
    [{ 'http.request.method': 'POST', 'gen_ai.system': 'openai' }, 'foreign'],
    [{ 'gen_ai.operation.name': '__proto__' }, 'step'],
    [{ 'gen_ai.operation.name': 7 }, 'step'],
    [{}, 'foreign'],
  ])('with %j is a %s', (attributes, is) => {
    expect(of(attributes).is).toBe(is);
  });

  it.each([
    [{ 'openinference.span.kind': 'RETRIEVER' }, 'retrieval'],
    [{ 'openinference.span.kind': 'GUARDRAIL' }, 'guardrail'],
    [{ 'openinference.span.kind': 'EVALUATOR' }, 'evaluation'],
    [{ 'gen_ai.operation.name': 'search_memory' }, 'memory'],
    [{ 'gen_ai.operation.name': 'plan' }, 'plan'],
  ])('with %j is kept as %s', (attributes, step) => {
    expect(of(attributes)).toMatchObject({ is: 'kept_step', step });
  });
});
