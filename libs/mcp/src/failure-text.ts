import { ProblemError } from '@agentlens/client';

/** What went wrong and what to do about it, for the model that called. */
export function failureText(error: unknown, address: string): string {
  if (error instanceof ToolRefusal) return error.message;
  if (error instanceof ProblemError) {
    const { status, code, message, hint, details, requestId } = error;
    const lines = [
      `${message} (HTTP ${status}${code === undefined ? '' : `, ${code}`})`,
      ...details.map((detail) => `${detail.path}: ${detail.message}`),
      ...(hint === undefined ? [] : [hint]),
      ...(status >= 500 && requestId !== undefined ? [`Request ${requestId} in the platform's log.`] : []),
    ];
    return lines.join('\n');
  }
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return `AgentLens at ${address} did not answer in time. If this was a change, read it back before you repeat it.`;
  }
  if (error instanceof TypeError && error.message === 'fetch failed') {
    return `AgentLens at ${address} cannot be reached: ${causeOf(error)}. Is it running, and is the address right?`;
  }
  throw error;
}

/** An action that this server refuses itself, whatever the key may do. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
}

function causeOf({ cause, message }: Error): string {
  if (!(cause instanceof Error)) return message;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
