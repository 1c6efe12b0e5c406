import { blockedResult } from '@agentlens/sdk';
import { type Guard, type ModelCall, readAnswerUsage } from '@agentlens/sdk/adapter';
import type { Chunk, Processor, RequestArgs, ResponseArgs, ToolResultArgs } from './shapes.ts';
import type { WithheldResults } from './tool-hooks.ts';

const ID = 'agentlens';

/** Model calls that have not been answered, by the state that the framework keeps for one request. */
const CALLS = new WeakMap<object, ModelCall>();

/** Asks before each model call and sends cleaned messages. Goes last: a later one could change what was checked. */
export function requestProcessor(
  guard: Guard,
  begun: (call: ModelCall, model: RequestArgs['model']) => void,
): Processor {
  return {
    id: ID,
    async processLLMRequest({ prompt, model, state }) {
      const scope = guard.here();
      const call = await scope.beginModel(prompt);
      CALLS.set(state, call);
      begun(call, model);
      return { prompt: call.messages };
    },
    async processLLMResponse(args) {
      await report(args);
    },
  };
}

/** Removes results that must not be used from the messages, and reports tools that the provider ran. */
export function resultProcessor(guard: Guard, withheld: WithheldResults): Processor {
  return {
    id: `${ID}-results`,
    async processToolResult(given: ToolResultArgs) {
      const { toolName, toolCallId, args, result, providerExecuted, messageList } = given;
      if (providerExecuted === true) {
        const scope = guard.here();
        await scope.observeTool({ id: toolCallId, name: toolName, args }, { result, durationMs: 0 });
        return messageList;
      }
      const decision = withheld.take(toolCallId);
      if (decision === undefined) return messageList;
      const toolInvocation = { state: 'result', toolCallId, toolName, args, result: blockedResult(decision) };
      messageList.updateToolInvocation({ type: 'tool-invocation', toolInvocation });
      return messageList;
    },
  };
}

async function report({ chunks, model, state, fromCache }: ResponseArgs): Promise<void> {
  const call = CALLS.get(state);
  CALLS.delete(state);
  const failure = chunks.find(({ type }) => type === 'error')?.payload?.error;
  if (failure !== undefined) {
    const error = Object.assign(new Error(failure.message ?? 'the model call failed'), {
      name: failure.name ?? 'Error',
    });
    await call?.failed({ name: model.modelId ?? 'unknown', provider: model.provider }, error);
    return;
  }
  const usage =
    fromCache === true ? undefined : chunks.findLast(({ payload }) => payload?.output?.usage)?.payload?.output?.usage;
  await call?.answered({
    content: contentOf(chunks),
    model: { name: model.modelId ?? 'unknown', provider: model.provider },
    usage: readAnswerUsage({ usage, providerMetadata: metadataIn(chunks) }),
  });
}

/** What only the provider reports, in the last chunk. */
function metadataIn(chunks: readonly Chunk[]): unknown {
  const last = chunks.findLast(({ payload }) => payload?.metadata?.providerMetadata ?? payload?.providerMetadata);
  return last?.payload?.metadata?.providerMetadata ?? last?.payload?.providerMetadata;
}

function contentOf(chunks: readonly Chunk[]) {
  const text = chunks.map(({ type, payload }) => (type === 'text-delta' ? (payload?.text ?? '') : '')).join('');
  const calls = chunks.flatMap(({ type, payload }) => {
    if (type !== 'tool-call') return [];
    const { toolCallId, toolName = '', args } = payload ?? {};
    return [{ type: 'tool_call', toolCallId, toolName, args }];
  });
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...calls];
}
