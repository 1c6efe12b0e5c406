import type { CommandContext } from '../../context.ts';
import { CommandError, EXIT } from '../../errors.ts';
import { interruptible } from '../../platform-client.ts';

/** A call through the gateway, in the dialect of its connection. */
export interface GatewayQuestion {
  readonly connection: string;
  readonly dialect: keyof typeof PATHS;
  readonly key: string;
  readonly model: string;
  readonly maxTokens: number;
  readonly run?: string;
  readonly streamed?: boolean;
}

const PATHS = {
  anthropic: () => '/v1/messages',
  openai: () => '/v1/chat/completions',
  gemini: (model: string, streamed: boolean) =>
    `/v1beta/models/${encodeURIComponent(model)}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
} as const;

/** Sends a short question to a model through the gateway. @throws CommandError if the platform does not answer */
export async function askModel(context: CommandContext, question: GatewayQuestion): Promise<Response> {
  const { connection, dialect, key, model, run, streamed = false } = question;
  const options = context.clientOptions(context.connection());
  return interruptible(options)(`${options.connection.url}/gw/${connection}${PATHS[dialect](model, streamed)}`, {
    method: 'POST',
    signal: context.host.signal,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...(run === undefined ? {} : { 'x-agentlens-run': run }),
    },
    body: JSON.stringify(writeQuestion(question)),
  });
}

function writeQuestion({ dialect, model, maxTokens, streamed = false }: GatewayQuestion): object {
  const text = 'Say hi.';
  if (dialect === 'gemini') {
    return { contents: [{ role: 'user', parts: [{ text }] }], generationConfig: { maxOutputTokens: maxTokens } };
  }
  return { model, max_tokens: maxTokens, stream: streamed, messages: [{ role: 'user', content: text }] };
}

/** The message of an error in any dialect. */
export async function readErrorMessage(answer: Response): Promise<string> {
  const read: unknown = await answer.json().catch(() => null);
  const error = typeof read === 'object' && read !== null && 'error' in read ? read.error : undefined;
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined;
  return typeof message === 'string' ? message : `status ${answer.status}`;
}

const KEY_MINUTES = 10;

/**
 * Creates a key of the agent that works for ten minutes, lends it to `work`, and revokes it.
 *
 * @param agent named after the command, so that its calls are recognised
 */
export async function withModelKey<T>(
  context: CommandContext,
  agent: string,
  work: (key: string) => Promise<T>,
): Promise<T> {
  const client = await context.connect();
  const expiresAt = new Date(context.host.nowMs() + KEY_MINUTES * 60_000).toISOString();
  const { id, key } = await client.createKey({ body: { name: agent, scopes: ['model'], agents: [agent], expiresAt } });
  try {
    return await work(key);
  } finally {
    await client.revokeKey({ params: { id } });
  }
}

export function failedCall(what: string): CommandError {
  return new CommandError(what, { exitCode: EXIT.failed });
}
