import type { Json } from '../core/json.ts';
import type { Effects } from '../effects/effects.ts';
import { type CallOptions, type LLMClient, type ModelInput, type ModelPart, messagesOf } from './llm-client.ts';

/** Asks a model through the effects, as parts where it can stream, so that recordings and replays see each one. */
export async function* recordedParts(
  client: LLMClient,
  provider: string,
  effects: Effects,
  input: ModelInput,
  options: CallOptions,
): AsyncIterable<ModelPart> {
  const { signal: _signal, timeoutMs: _timeoutMs, ...asked } = options;
  const request = { provider, messages: messagesOf(input), ...asked } as unknown as Json;
  const stream = client.stream?.bind(client);
  if (stream === undefined) {
    const response = await effects.perform('model', request, () => client.call(input, options));
    yield { type: 'response', response };
    return;
  }
  yield* effects.stream('model', request, () => stream(input, options));
}
