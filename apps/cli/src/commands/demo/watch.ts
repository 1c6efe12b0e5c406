import type { Client } from '@agentlens/client';
import type { RuleAnswer } from '../../api-types.ts';
import { eventText } from '../event-text.ts';
import type { DemoScreen } from './demo-screen.ts';

export interface Watch {
  /** The ids of the rules that fired so far. */
  readonly fired: ReadonlySet<string>;
  /** Resolves when the stream is closed. */
  stop(): Promise<void>;
}

/** Shows an agent's events, and the rules that fire, as they are streamed. Resolves once nothing can be missed. */
export async function watchAgent(
  client: Client,
  agentId: string,
  rules: readonly RuleAnswer[],
  screen: DemoScreen,
): Promise<Watch> {
  const fired = new Set<string>();
  const leaving = new AbortController();
  const frames = client.openStream({ query: { agentId }, signal: leaving.signal });
  // The platform sends a heartbeat when the stream is open.
  await frames.next();
  const ended = (async () => {
    for await (const frame of frames) {
      if (frame.event === 'event') screen.event(eventText(frame.data), frame.data.isError);
      if (frame.event !== 'alert' || !rules.some(({ id }) => id === frame.data.ruleId)) continue;
      fired.add(frame.data.ruleId);
      screen.guardrail(`"${frame.data.name}" fires: ${frame.data.message}`);
    }
  })();
  return {
    fired,
    stop: async () => {
      leaving.abort();
      await ended;
    },
  };
}
