import { type AgentEvent, COMMANDS, type EventBatch, sha256Hex } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';

/** Recorded by the MCP proxy when a tool definition is new or changed. */
const SOURCE_TYPE = 'mcp.tool_definition';
/** Changes that are remembered as reported. Forgetting one costs a question that the dispatcher ignores. */
const MAX_REMEMBERED = 10_000;
const MAX_ALERTS_PER_BATCH = 20;
const MAX_NAME_CHARS = 200;
const MAX_LINES = 10;
const MAX_LINE_CHARS = 1_000;

/** Raises an alert, once per change and UTC day, when an MCP server defines a tool in a new way. */
export class ToolDefinitionAlerts {
  readonly #bus: Pick<EventBus, 'request'>;
  readonly #logger: Platform['logger'];
  readonly #reported = new BoundedMap<true>(MAX_REMEMBERED);
  readonly #asking = new BackgroundWork();

  constructor(bus: Pick<EventBus, 'request'>, logger: Platform['logger']) {
    this.#bus = bus;
    this.#logger = logger;
  }

  /** Does not wait for the answers: the next report of a change tries again if the dispatcher could not be reached. */
  async report({ tenantId, events }: EventBatch): Promise<void> {
    const changes = events.filter(({ sourceType }) => sourceType === SOURCE_TYPE);
    for (const event of changes.slice(0, MAX_ALERTS_PER_BATCH)) this.#report(tenantId, event);
  }

  async stop(): Promise<void> {
    await this.#asking.ended();
  }

  #report(tenantId: string, event: AgentEvent): void {
    const { agentId, runId, occurredAt } = event;
    const { title, message } = textOf(event.payload);
    const day = occurredAt.slice(0, 10);
    const digest = sha256Hex(JSON.stringify([agentId, title, message, day]));
    const key = `${tenantId}/${digest}`;
    if (this.#reported.has(key)) return;
    this.#reported.set(key, true);
    const asked = this.#bus
      .request(COMMANDS.raiseAlert, {
        ...{ tenantId, kind: 'rule', severity: 'warn', agentId, runId, title, message },
        ...{ about: `tool-definition:${digest}`, at: `${day}T00:00:00.000Z` },
      })
      .then((answer) => {
        if (!answer.ok) throw new Error(answer.problem.error);
      })
      .catch((err: unknown) => {
        this.#reported.delete(key);
        this.#logger.warn({ err, tenantId }, 'raising an alert about a tool definition failed');
      });
    this.#asking.add(asked);
  }
}

/** The payload comes from an agent, so every part is bounded and made visible. */
function textOf({ server, tool, what, quarantined, difference }: AgentEvent['payload']) {
  const name = `${shown(server, MAX_NAME_CHARS)}.${shown(tool, MAX_NAME_CHARS)}`;
  const lines = (Array.isArray(difference) ? difference : []).slice(0, MAX_LINES);
  const outcome =
    quarantined === true
      ? 'It is hidden and refused until a person accepts it.'
      : 'Agents can use it: the proxy only warns.';
  return {
    title: `The MCP tool ${name} is ${what === 'changed' ? 'changed' : 'new'}`,
    message: [outcome, ...lines.map((line) => shown(line, MAX_LINE_CHARS))].join('\n'),
  };
}

function shown(text: unknown, maxChars: number): string {
  return typeof text === 'string' ? visible(text.slice(0, maxChars)) : '(none)';
}
