import type { AgentEvent, EventBatch } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import type { EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { DailyAlerts } from '../daily-alerts.ts';

/** Recorded by the MCP proxy when a tool, a prompt or the instructions of a server are new or changed. */
const SOURCE_TYPE = 'mcp.tool_definition';
const MAX_ALERTS_PER_BATCH = 20;
const MAX_NAME_CHARS = 200;
const MAX_LINES = 10;
const MAX_LINE_CHARS = 1_000;

/** Raises an alert, once per change and UTC day, when an MCP server tells models something new. */
export class ToolDefinitionAlerts {
  readonly #alerts: DailyAlerts;

  constructor(bus: Pick<EventBus, 'request'>, logger: Platform['logger']) {
    this.#alerts = new DailyAlerts(bus, logger, 'tool-definition');
  }

  async report({ tenantId, events }: EventBatch): Promise<void> {
    const changes = events.filter(({ sourceType }) => sourceType === SOURCE_TYPE);
    for (const { agentId, runId, occurredAt, payload } of changes.slice(0, MAX_ALERTS_PER_BATCH)) {
      const text = textOf(payload);
      this.#alerts.raise({
        ...{ tenantId, kind: 'rule', severity: 'warn', agentId, runId, occurredAt, ...text },
        // The message is cut; the hash is of the whole definition.
        identity: [agentId, text.title, text.message, shown(payload.hash, MAX_NAME_CHARS)],
      });
    }
  }

  stop(): Promise<void> {
    return this.#alerts.stop();
  }
}

/** The payload comes from an agent, so every part is bounded and made visible. */
function textOf({ server, tool, kind, what, quarantined, difference }: AgentEvent['payload']) {
  const lines = (Array.isArray(difference) ? difference : []).slice(0, MAX_LINES);
  const outcome =
    quarantined === true
      ? 'It is hidden and refused until a person accepts it.'
      : 'Agents can use it: the proxy only warns.';
  return {
    title: `${describeSubject(kind, shown(server, MAX_NAME_CHARS), shown(tool, MAX_NAME_CHARS))} ${what === 'changed' ? 'changed' : 'new'}`,
    message: [outcome, ...lines.map((line) => shown(line, MAX_LINE_CHARS))].join('\n'),
  };
}

function describeSubject(kind: unknown, server: string, name: string): string {
  if (kind === 'instructions') return `The instructions of the MCP server ${server} are`;
  if (kind === 'prompt') return `The MCP prompt ${server}.${name} is`;
  if (kind === 'prompt text') return `The text of the MCP prompt ${server}.${name} is`;
  return `The MCP tool ${server}.${name} is`;
}

function shown(text: unknown, maxChars: number): string {
  return typeof text === 'string' ? visible(text.slice(0, maxChars)) : '(none)';
}
