import type { ModelApi } from '../model-dialect.ts';
import { isJsonObject, type ProviderJson } from '../model-usage.ts';
import { readCompletionCalls, rewriteCompletion } from './chat-calls.ts';
import { isSigned, readGeminiCalls, rewriteGemini } from './gemini-calls.ts';
import { readMessageCalls, rewriteMessage } from './messages-calls.ts';
import { hasEncryptedReasoning, readResponseCalls, rewriteResponse } from './response-calls.ts';
import { type AnsweredCall, listObjects, looksLikeJson, type ToolVerdicts } from './tool-call.ts';

/** The tool calls of an answer that is not a stream of events. */
export interface WholeAnswer {
  readonly calls: readonly AnsweredCall[];
  readonly isSigned: boolean;
  /** The text of the answer with other calls. */
  rewrite(verdicts: ToolVerdicts): string;
}

const READ: Readonly<Partial<Record<ModelApi, (answer: ProviderJson) => AnsweredCall[]>>> = {
  messages: readMessageCalls,
  chat: readCompletionCalls,
  responses: readResponseCalls,
  generate: (answer) => readGeminiCalls(answer),
};
const REWRITE: Readonly<Partial<Record<ModelApi, (answer: ProviderJson, verdicts: ToolVerdicts) => ProviderJson>>> = {
  messages: rewriteMessage,
  chat: rewriteCompletion,
  responses: rewriteResponse,
  generate: (answer, verdicts) => rewriteGemini(answer, verdicts),
};

/** Whether a client may read tool calls in an answer in which we read none. */
export function mayHoldCalls(api: ModelApi, text: string): boolean {
  return READ[api] !== undefined && looksLikeJson(text);
}

/** Finds the tool calls of a whole answer. Undefined if the answer is no JSON of the API. */
export function readWholeAnswer(api: ModelApi, text: string): WholeAnswer | undefined {
  const answer = parse(text);
  if (api === 'generate' && Array.isArray(answer)) return readGeminiList(listObjects(answer));
  const [read, rewrite] = [READ[api], REWRITE[api]];
  if (!isJsonObject(answer) || read === undefined || rewrite === undefined) return undefined;
  return {
    calls: read(answer),
    isSigned: api === 'generate' ? isSigned(answer) : hasEncryptedReasoning(answer),
    rewrite: (verdicts) => JSON.stringify(rewrite(answer, verdicts)),
  };
}

/** A stream of Gemini without `alt=sse` is one list of chunks. */
function readGeminiList(chunks: readonly ProviderJson[]): WholeAnswer {
  let count = 0;
  const numbered = chunks.map((chunk) => {
    const first = count;
    const calls = readGeminiCalls(chunk, first);
    count += calls.length;
    return { chunk, first, calls };
  });
  return {
    calls: numbered.flatMap(({ calls }) => calls),
    isSigned: chunks.some(isSigned),
    rewrite: (verdicts) => JSON.stringify(numbered.map(({ chunk, first }) => rewriteGemini(chunk, verdicts, first))),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another parser may read it: the caller decides whether it passes.
    return undefined;
  }
}
