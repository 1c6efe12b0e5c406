// The same turn in other frameworks: ten steps of a model that calls one validated tool, and its answer.
import { Agent, tool as agentsTool, run, setTracingDisabled, Usage } from '@openai/agents';
import { tool as aiTool, jsonSchema, stepCountIs, streamText } from 'ai';

export const STEPS = 10;
export const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
};
const ARGUMENTS = '{"a":1,"b":2}';

let step = 0;
const usage = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
const aiModel = {
  ...{ specificationVersion: 'v4', provider: 'stub', modelId: 'stub', supportedUrls: {} },
  async doStream() {
    const parts =
      step++ < STEPS
        ? [
            { type: 'tool-call', toolCallId: `c${step}`, toolName: 'add', input: ARGUMENTS },
            { type: 'finish', finishReason: { unified: 'tool-calls' }, usage },
          ]
        : [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'done' },
            { type: 'text-end', id: '1' },
            { type: 'finish', finishReason: { unified: 'stop' }, usage },
          ];
    return { stream: ReadableStream.from(parts) };
  },
};
const aiTools = {
  add: aiTool({ description: 'Adds.', inputSchema: jsonSchema(SCHEMA), execute: ({ a, b }) => a + b }),
};

export async function aiSdk() {
  step = 0;
  const result = streamText({ model: aiModel, prompt: 'go', tools: aiTools, stopWhen: stepCountIs(100) });
  for await (const _part of result.fullStream);
  if (step !== STEPS + 1) throw new Error(`the AI SDK made ${step} steps`);
}

setTracingDisabled(true);
let call = 0;
const agentsModel = {
  async getResponse() {
    const output =
      call++ < STEPS
        ? { type: 'function_call', callId: `c${call}`, name: 'add', arguments: ARGUMENTS, status: 'completed' }
        : {
            ...{ type: 'message', id: 'm', role: 'assistant', status: 'completed' },
            content: [{ type: 'output_text', text: 'done' }],
          };
    return { usage: new Usage(), output: [output] };
  },
  async *getStreamedResponse() {
    const { usage: used, output } = await agentsModel.getResponse();
    const { inputTokens, outputTokens, totalTokens } = used;
    const response = { id: `r${call}`, usage: { inputTokens, outputTokens, totalTokens }, output };
    yield { type: 'response_done', response };
  },
};
const agent = new Agent({
  name: 'bench',
  model: agentsModel,
  tools: [agentsTool({ name: 'add', description: 'Adds.', parameters: SCHEMA, execute: ({ a, b }) => a + b })],
});

export async function openAiAgents() {
  call = 0;
  const result = await run(agent, 'go', { stream: true, maxTurns: 100 });
  for await (const _event of result);
  await result.completed;
  if (call !== STEPS + 1) throw new Error(`OpenAI Agents JS made ${call} steps`);
}
