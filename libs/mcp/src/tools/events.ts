import type { Client } from '@agentlens/client';
import { z } from 'zod';
import { pick } from '../answer.ts';
import { AGENT, actionsWith, id, type McpTool, PAGE, RANGE, RUN, USUAL_LIMIT, words } from '../tool.ts';
import { runPath } from './runs.ts';

type Event = Awaited<ReturnType<Client['getEvent']>>;

const fields = {
  ...AGENT,
  ...RUN,
  ...RANGE,
  ...PAGE,
  eventId: id,
  eventType: words.describe('e.g. tool_call,llm_call'),
  severity: words.describe('e.g. error,critical'),
  search: z.string().describe('text in the payload'),
};
const action = actionsWith(fields);

export const events: McpTool = {
  name: 'events',
  title: 'Events of agents',
  description: 'Single events as sent by agents, newest first.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['agentId', 'runId', 'eventType', 'severity', 'search', 'from', 'to', 'limit', 'cursor'],
      run: async (
        { client },
        { limit = USUAL_LIMIT, runId, agentId, eventType, severity, search, from, to, cursor },
      ) => ({
        ...{ list: 'events', limit, summary: eventSummary, path: runId ? runPath(runId) : '/live' },
        ask: (most) =>
          client.listEvents({
            query: { sessionId: runId, agentId, eventType, severity, search, from, to, cursor, limit: most },
          }),
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['eventId'],
      run: async ({ client }, { eventId }) => {
        const event = await client.getEvent({ params: { id: eventId } });
        return { value: { event }, path: runPath(event.sessionId) };
      },
    }),
  },
};

function eventSummary(event: Event) {
  const { sessionId: runId } = event;
  const shown = pick(event, 'id', 'timestamp', 'agentId', 'eventType', 'severity', 'isError', 'toolName', 'model');
  return { ...shown, runId, payload: event.payload };
}
