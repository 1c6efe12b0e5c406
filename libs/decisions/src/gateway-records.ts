import {
  type Decision,
  type DecisionRequest,
  decisionDecided,
  HANDLEBAR_DIALECT,
  recordedToolName,
  type TranslatedEvent,
} from '@agentlens/contracts';
import { mixesScripts } from '@agentlens/guardrails/names';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';
import type { GatewayMetrics } from './gateway-metrics.ts';

/** Maximum number of records in progress. Beyond it, bypasses are only counted. */
const MAX_RECORDINGS = 1_000;
/** Maximum number of remembered oddities. The oldest are evicted, which at worst records one twice. */
const MAX_REPORTED_ODDITIES = 10_000;
/** Records per bypass: the decision, and an event in its run. */
const RECORDS_EACH = 2;

/** Stores an event of the platform itself in a run. */
export interface RunRecorder {
  record(tenantId: string, event: TranslatedEvent): Promise<unknown>;
}

interface GatewayRecordsDependencies {
  readonly bus: Pick<EventBus, 'publish'>;
  readonly recorder: RunRecorder;
  readonly metrics: Pick<GatewayMetrics, 'odd' | 'dropped'>;
  readonly logger: Platform['logger'];
}

/** Records what happened beside an answer. No answer waits for it; what cannot be recorded is counted. */
export class GatewayRecords {
  readonly #parts: GatewayRecordsDependencies;
  readonly #recording = new BackgroundWork();
  readonly #reported = new BoundedMap<true>(MAX_REPORTED_ODDITIES);

  constructor(parts: GatewayRecordsDependencies) {
    this.#parts = parts;
  }

  /** Records each oddity of a question once per run. */
  oddities(request: DecisionRequest): void {
    const { recorder, metrics, logger } = this.#parts;
    for (const oddity of findOddities(request)) {
      metrics.odd(oddity.what);
      if (this.#reported.has(oddity.name) || this.#recording.size >= MAX_RECORDINGS) continue;
      this.#reported.set(oddity.name, true);
      const recorded = recorder.record(request.tenantId, buildOddityEvent(request, oddity)).then(
        () => undefined,
        (error: unknown) => {
          this.#reported.delete(oddity.name);
          logger.warn({ err: error, what: oddity.what }, 'recording an unusual question failed, it was counted');
        },
      );
      this.#recording.add(recorded);
    }
  }

  /** Records a decision that the evaluator did not make, and shows it in its run. */
  bypass(decision: Decision, why: string): void {
    const { bus, recorder, logger, metrics } = this.#parts;
    if (this.#recording.size >= MAX_RECORDINGS) {
      metrics.dropped('bypass_record', RECORDS_EACH);
      return;
    }
    // One may fail while the other is still awaited.
    const recording = Promise.allSettled([
      bus.publish(decisionDecided, decision),
      recorder.record(decision.tenantId, buildBypassEvent(decision, why)),
    ]).then((records) => {
      const errors = records.flatMap((record): unknown[] => (record.status === 'rejected' ? [record.reason] : []));
      if (errors.length === 0) return;
      metrics.dropped('bypass_record', errors.length);
      logger.warn({ err: errors[0], missing: errors.length }, 'recording a bypassed decision failed, it was counted');
    });
    this.#recording.add(recording);
  }

  /** Waits for the records in progress. */
  async drain(): Promise<void> {
    await this.#recording.ended();
  }
}

function buildBypassEvent(
  { id, agentId, runId, phase, toolName, callId, verdict }: Decision,
  why: string,
): TranslatedEvent {
  const facts: TranslatedEvent['facts'] = {
    agentId,
    runId,
    kind: 'custom.recorded',
    dialect: HANDLEBAR_DIALECT,
    sourceType: 'decision.bypassed',
    severity: 'warn',
    isError: false,
    toolName,
    callId,
    payload: { decisionId: id, phase, why, verdict },
    metadata: {},
  };
  return { clientId: undefined, timestamp: undefined, facts };
}

/** Something unusual about a question that an operator should see, although it is answered. */
interface Oddity {
  /**
   * `other_identity`: the run was started under another identity. `mixed_scripts`: a tool's name imitates another one.
   */
  readonly what: 'other_identity' | 'mixed_scripts';
  /** Equal for every question of the run with the same oddity. */
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Finds what is unusual about a question. */
function findOddities(request: DecisionRequest): Oddity[] {
  const { tenantId, runId, agentId, sessionId, actor, startedAs, tool } = request;
  const oddities: Oddity[] = [];
  const add = (what: Oddity['what'], payload: Oddity['payload']) =>
    oddities.push({ what, name: JSON.stringify([tenantId, runId, what, payload]), payload });
  if (startedAs !== undefined) {
    const started = { ...startedAs, actor: startedAs.actor?.externalId };
    add('other_identity', { asked: { agentId, sessionId, actor: actor?.externalId }, started });
  }
  if (tool !== undefined && mixesScripts(tool.name)) add('mixed_scripts', { toolName: tool.name });
  return oddities;
}

/** Builds the event that shows an oddity in its run. */
function buildOddityEvent(
  { agentId, runId, callId, tool }: DecisionRequest,
  { what, payload }: Oddity,
): TranslatedEvent {
  const facts: TranslatedEvent['facts'] = {
    agentId,
    runId,
    kind: 'custom.recorded',
    dialect: HANDLEBAR_DIALECT,
    sourceType: `decision.${what}`,
    severity: 'warn',
    isError: false,
    toolName: tool && recordedToolName(tool.name),
    callId,
    payload: JSON.parse(JSON.stringify(payload)) as TranslatedEvent['facts']['payload'],
    metadata: {},
  };
  return { clientId: undefined, timestamp: undefined, facts };
}
