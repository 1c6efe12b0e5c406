import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenedAnswer, StreamingRequest } from '@agentlens/egress';
import {
  type AnswerScript,
  findProviderCall,
  readModelRequest,
  writeStreamedAnswer,
  writeWholeAnswer,
} from '@agentlens/model-api';
import type { Provider } from './model-provider-client.ts';

const SENTENCE =
  'This answer comes from the trial provider inside the gateway. It calls no model and costs nothing at any vendor. ' +
  'It streams one word at a time, so that there is time to stop it: kill its run and watch it end.';
/** Repeated, so that a stream lasts about half a minute. */
const PIECES = Array.from({ length: 4 }, () => SENTENCE.split(/(?<= )/)).flat();
const APART_MS = 150;
const TOKENS_PER_PIECE = 2;

/** A provider inside the gateway, for trying rules, budgets and stops without a key of a provider. */
export class TrialProvider implements Provider {
  async open({ url, body, signal }: StreamingRequest): Promise<OpenedAnswer> {
    const found = findProviderCall(url);
    if (body === undefined || found === undefined) return answered(404, 'application/json', Readable.from(['{}']));
    const { api, addressed } = found;
    const { request } = readModelRequest(api, body, addressed);
    const pieces = request.streamed ? PIECES : PIECES.slice(0, 20);
    const script: AnswerScript = {
      id: `trial_${api}`,
      model: request.model,
      pieces,
      inputTokens: request.inputTokens,
      outputTokens: pieces.length * TOKENS_PER_PIECE,
    };
    if (!request.streamed) {
      return answered(200, 'application/json', Readable.from([Buffer.from(writeWholeAnswer(api, script))]));
    }
    return answered(200, 'text/event-stream', Readable.from(slowly(writeStreamedAnswer(api, script, true), signal)));
  }
}

function answered(status: number, type: string, body: Readable): OpenedAnswer {
  return { kind: 'answered', status, headers: { 'content-type': type }, body };
}

async function* slowly(frames: readonly string[], signal: AbortSignal): AsyncGenerator<Buffer> {
  for (const frame of frames) {
    yield Buffer.from(frame);
    await pause(APART_MS, undefined, { signal });
  }
}
