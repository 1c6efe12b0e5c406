import type { Decision } from '@agentlens/sdk';
import { type Guard, refusalText } from '@agentlens/sdk/adapter';
import { contentOf, recorded } from './messages.ts';
import type {
  Block,
  ModelContext,
  ModelResult,
  ModelUsage,
  Plugin,
  StrandsModule,
  ToolContext,
  ToolResult,
} from './shapes.ts';

/** Wraps every tool and model call of an agent. */
export function guardPlugin(guard: Guard, strands: StrandsModule): Plugin {
  return {
    name: 'agentlens',
    initAgent(agent) {
      agent.addMiddleware<ToolContext, ToolResult>(strands.ExecuteToolStage, (context, next) =>
        guardedTool(guard, strands, context, next),
      );
      agent.addMiddleware<ModelContext, ModelResult>(strands.InvokeModelStage, (context, next) =>
        guardedModel(guard, context, next),
      );
    },
  };
}

async function* guardedTool(
  guard: Guard,
  strands: StrandsModule,
  context: ToolContext,
  next: (context: ToolContext) => AsyncGenerator<unknown, ToolResult>,
): AsyncGenerator<unknown, ToolResult> {
  const scope = guard.here();
  const { toolUse, cancelSignal: signal } = context;
  const { toolUseId, name, input } = toolUse;
  const refuse = (decision: Decision): ToolResult => {
    const content = [new strands.TextBlock(refusalText(decision))];
    return { result: new strands.ToolResultBlock({ toolUseId, status: 'error', content }) };
  };
  const decision = await scope.tools.before({ id: toolUseId, name, args: input }, { signal });
  if (decision.verdict === 'BLOCK') return refuse(decision);
  const decided = decision.args === input ? context : { ...context, toolUse: { ...toolUse, input: decision.args } };
  let outcome: ToolResult;
  try {
    outcome = yield* scope.stream(next(decided), decision.callId);
  } catch (error) {
    await scope.tools.after(decision.callId, { error: error ?? new Error('the tool threw nothing') });
    throw error;
  }
  const after = await scope.tools.after(decision.callId, reported(outcome.result));
  return after?.verdict === 'BLOCK' ? refuse(after) : outcome;
}

/** A tool that failed is a result too. */
function reported({ status, error, content }: Block) {
  return status === 'error' ? { result: content, error: error ?? content ?? status } : { result: content };
}

async function* guardedModel(
  guard: Guard,
  context: ModelContext,
  next: (context: ModelContext) => AsyncGenerator<unknown, ModelResult>,
): AsyncGenerator<unknown, ModelResult> {
  const scope = guard.here();
  const { messages, systemPrompt, model } = context;
  const system = typeof systemPrompt === 'string' ? [{ role: 'system', content: systemPrompt }] : [];
  const history = messages.map(recorded);
  const before = [...system, ...history.flatMap(({ parts }) => parts)];
  const call = await scope.beginModel(before);
  const contents = call.messages.map(({ content }) => content);
  const about = { name: model.modelId ?? model.getConfig?.().modelId ?? 'unknown' };
  const unchanged = contents.every((content, index) => content === before[index]?.content);
  const sent = unchanged ? context : cleanedContext(context, history, contents, system.length);
  try {
    const outcome = yield* next(sent);
    const { message, metadata } = outcome.result;
    const usage = metadata?.usage;
    await call.answered({
      content: contentOf(message.content),
      model: about,
      usage: usage && usageOf(usage),
    });
    return outcome;
  } catch (error) {
    await call.failed(about, error);
    throw error;
  }
}

/** Bedrock and Anthropic count cached tokens beside the input tokens, which their total shows; others inside. */
function usageOf(usage: ModelUsage) {
  const { inputTokens: input = 0, outputTokens: output = 0, totalTokens } = usage;
  const { cacheReadInputTokens: read = 0, cacheWriteInputTokens: write = 0 } = usage;
  const cached = read + write;
  const isBeside = cached > input || (cached > 0 && totalTokens === input + output + cached);
  return {
    inputTokens: isBeside ? input + cached : input,
    outputTokens: usage.outputTokens,
    cacheReadTokens: usage.cacheReadInputTokens,
    cacheWriteTokens: usage.cacheWriteInputTokens,
  };
}

function cleanedContext(
  context: ModelContext,
  history: readonly ReturnType<typeof recorded>[],
  contents: readonly unknown[],
  systemCount: number,
): ModelContext {
  let at = systemCount;
  const messages = history.map(({ parts, cleaned }) => {
    const own = contents.slice(at, at + parts.length);
    at += parts.length;
    return own.every((content, index) => content === parts[index]?.content) ? undefined : cleaned(own);
  });
  return {
    ...context,
    ...(systemCount === 0 ? {} : { systemPrompt: contents[0] }),
    messages: context.messages.map((message, index) => messages[index] ?? message),
  };
}
