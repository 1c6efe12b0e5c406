import { open } from 'node:fs/promises';
import type { AgentEvent } from '../core/agent-event.ts';
import { redactStored } from '../core/redact.ts';
import type { AgentHandle } from '../runtime/agent-handle.ts';

export interface TraceOptions {
  readonly from?: 'start' | 'now';
  /** False: omits tool inputs. Default true. */
  readonly recordInputs?: boolean;
}

/**
 * Writes a session's events to a file, one JSON line each, until the session or the signal ends. A slow disk causes a
 * gap, which is also written as a line, and never a slow agent. Text deltas are omitted; complete texts are included,
 * without secrets and personal data.
 */
export async function traceTo(
  handle: AgentHandle,
  path: string,
  options: TraceOptions & { readonly signal?: AbortSignal } = {},
): Promise<void> {
  const { from = 'start', recordInputs = true, signal } = options;
  const file = await open(path, 'a', 0o600);
  try {
    for await (const event of handle.subscribe({ from, ...(signal === undefined ? {} : { signal }) })) {
      if (event.type === 'text-delta' || event.type === 'thinking-delta') continue;
      const kept = event.type === 'lagged' || recordInputs ? event : withoutInputs(event);
      await file.appendFile(`${JSON.stringify(redactStored(kept))}\n`);
    }
  } finally {
    await file.close();
  }
}

function withoutInputs(event: AgentEvent): AgentEvent {
  if (event.type === 'tool-start' || event.type === 'permission-request') return { ...event, input: '[left out]' };
  if (event.type === 'subagent-output') return { ...event, chunk: withoutInputs(event.chunk) };
  return event;
}
