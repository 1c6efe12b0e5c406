import type { ModelPart, ModelResponse } from './llm-client.ts';
import { cutOff } from './model-error.ts';

/** The complete answer of a stream. @throws AgentError `model_cut_off` if there is none */
export async function responseOf(provider: string, parts: AsyncIterable<ModelPart>): Promise<ModelResponse> {
  let response: ModelResponse | undefined;
  for await (const part of parts) if (part.type === 'response') response = part.response;
  if (response === undefined) throw cutOff(provider, 'the stream ended without an answer');
  return response;
}
