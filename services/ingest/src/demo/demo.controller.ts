import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DecisionGateway } from '@agentlens/decisions';
import { BackgroundWork } from '@agentlens/messaging';
import { startDemo } from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  type Platform,
  ProblemException,
  port,
  requireAgent,
  Serves,
} from '@agentlens/platform';
import { type BeforeApplicationShutdown, Controller, Inject } from '@nestjs/common';
import { EventIngestor } from '../event-ingestor.ts';
import { AGENTLENS } from '../intake/dialect.ts';
import { type DemoWorld, runDemoAgent } from './demo-agent.ts';

const DEMO_AGENT = 'demo-agent';
const MAX_RUNNING_AGENTS = 5;
/** A demo agent runs for about a minute. */
const RETRY_AFTER_S = 15;
const DEADLINE_MS = 5_000;

/** Runs the demo agent on this server. Its events and questions take the same path as those of any other agent. */
@Controller()
export class DemoController implements BeforeApplicationShutdown {
  readonly #running = new BackgroundWork();
  readonly #leaving = new AbortController();

  constructor(
    @Inject(EventIngestor) private readonly events: EventIngestor,
    @Inject(DecisionGateway) private readonly decisions: DecisionGateway,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  @Serves(startDemo)
  start(@CurrentCaller() caller: Caller): { runId: string; agentId: string } {
    requireAgent(caller, DEMO_AGENT);
    if (this.#running.size >= MAX_RUNNING_AGENTS) {
      throw new ProblemException(429, 'Enough demo agents run here', {
        hint: 'Wait until one of them has ended.',
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      });
    }
    const runId = `demo-${randomUUID().slice(0, 8)}`;
    const world = this.#worldOf(caller, runId);
    this.#running.add(
      runDemoAgent(world).catch((error: unknown) => {
        if (!this.#leaving.signal.aborted) this.logger.warn({ err: error, runId }, 'demo agent failed');
      }),
    );
    return { runId, agentId: DEMO_AGENT };
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#leaving.abort();
    await this.#running.ended();
  }

  #worldOf({ tenantId, decisionFailMode: failMode = 'allow', decisionPath: path }: Caller, runId: string): DemoWorld {
    const now = () => new Date(this.clock.now()).toISOString();
    const common = { sessionId: runId, agentId: DEMO_AGENT };
    return {
      report: async ({ eventType, payload, severity = 'info' }) => {
        const event = { id: randomUUID(), ...common, eventType, severity, payload, timestamp: now() };
        await this.events.take({ tenantId }, { events: [event], key: undefined, dialect: AGENTLENS, partial: false });
      },
      ask: async ({ toolName, args, callId }) => {
        const { decision } = await this.decisions.decide(
          {
            ...{ tenantId, agentId: DEMO_AGENT, runId, phase: 'tool.before', args, callId },
            ...{ tool: { name: toolName, tags: [] }, tags: {}, subjects: [], metrics: {} },
            ...{ receivedAt: now(), deadlineMs: DEADLINE_MS },
          },
          { failMode, path },
        );
        return decision;
      },
      newId: randomUUID,
      pause: (ms) => pause(ms, undefined, { signal: this.#leaving.signal }),
      nowMs: () => this.clock.now(),
    };
  }
}
