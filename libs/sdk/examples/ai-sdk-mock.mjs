// The AI SDK with its mock model, guarded. Needs neither a model key nor a platform: the server is the SDK's test
// double with one rule. node libs/sdk/examples/ai-sdk-mock.mjs
//
// Two separate integration points: tools are wrapped (nothing runs without a decision), and a middleware wraps the
// model (messages are recorded and may be changed; a stopped agent makes no further model call).
import { AgentStopped, isAgentStopped, isBlockedResult, withRun, wrapTool } from '@agentlens/sdk';
import { block, TestPlatform } from '@agentlens/sdk/testing';
import { generateText, isStepCount, jsonSchema, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

/** Guards the model: every call is decided before and reported after. */
export function guardedModel(model, run) {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => ({ ...params, prompt: await run.beforeLlm(params.prompt) }),
      wrapGenerate: async ({ doGenerate, model: { modelId, provider } }) => {
        const startedAt = performance.now();
        const named = { name: modelId, provider };
        try {
          const answer = await doGenerate();
          await run.afterLlm({
            content: answer.content,
            model: named,
            usage: { inputTokens: answer.usage.inputTokens.total, outputTokens: answer.usage.outputTokens.total },
            durationMs: performance.now() - startedAt,
          });
          return answer;
        } catch (error) {
          await run.afterLlm({ content: [], model: named, error, durationMs: performance.now() - startedAt });
          throw error;
        }
      },
    },
  });
}

/** Guards a tool. A refusal that ends the run throws; the AI SDK returns others to the model. */
export function guardedTool(name, definition, run) {
  const guarded = wrapTool({ name, execute: definition.execute }, { run });
  const call = (args, { toolCallId }) => guarded(args, { callId: toolCallId });
  // The AI SDK checks at once whether a tool streams: an async function that returns a stream later gives the model
  // `{}`.
  const streams = definition.execute.constructor.name === 'AsyncGeneratorFunction';
  return tool({
    ...definition,
    execute: streams
      ? async function* (args, options) {
          const result = await call(args, options);
          if (isBlockedResult(result)) yield result;
          else yield* result;
        }
      : call,
  });
}

const server = new TestPlatform().rule({ tools: ['delete_*'], answer: block('Blocked by rule "Nothing is deleted"') });
const client = await server.client();
const run = await client.startRun({ runId: 'example' });

const deleted = [];
const answers = [
  { type: 'tool-call', toolCallId: 'call-1', toolName: 'delete_file', input: '{"path":"/data/a.txt"}' },
  { type: 'tool-call', toolCallId: 'call-2', toolName: 'count_lines', input: '{"path":"/data/a.txt"}' },
  { type: 'text', text: 'I was not allowed to delete it.' },
];
const model = new MockLanguageModelV4({
  doGenerate: async () => {
    const answer = answers.shift();
    return {
      content: [answer],
      finishReason: { unified: answer.type === 'text' ? 'stop' : 'tool-calls', raw: undefined },
      usage: {
        inputTokens: { total: 30, noCache: 30, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 10, text: 10, reasoning: 0 },
      },
      warnings: [],
    };
  },
});

try {
  const result = await withRun(run, () =>
    generateText({
      model: guardedModel(model, run),
      prompt: 'Delete a.txt',
      stopWhen: isStepCount(5),
      tools: {
        delete_file: guardedTool(
          'delete_file',
          {
            description: 'Deletes a file',
            inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }),
            execute: async ({ path }) => {
              deleted.push(path);
              return 'deleted';
            },
          },
          run,
        ),
        count_lines: guardedTool(
          'count_lines',
          {
            description: 'Counts the lines of a file, and tells how far it is',
            inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }),
            execute: async function* () {
              yield 'counting';
              yield '42 lines';
            },
          },
          run,
        ),
      },
    }),
  );
  console.log(`model:   ${result.text}`);
  console.log(`counted: ${result.steps[1].toolResults[0].output}`);
  await run.end();
} catch (error) {
  if (!isAgentStopped(error) && !(error.cause instanceof AgentStopped)) throw error;
  await run.end('interrupted');
}
console.log(`deleted: ${JSON.stringify(deleted)}`);
for (const { kind, data } of server.events) {
  const said = [data.verdict, data.outcome, data.content, data.status].find((value) => typeof value === 'string');
  console.log(`event:   ${kind.padEnd(20)} ${said ?? ''}`);
}
await client.shutdown();
