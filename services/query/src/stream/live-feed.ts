import {
  agentEvents,
  alertChanged,
  breakerChanged,
  controlOrdered,
  decisionDecided,
  deliverySettled,
  type EventBatch,
  guardrailTriggered,
  type RunChanged,
  rulesChanged,
  runChanged,
  type Topic,
  type Trigger,
} from '@agentlens/contracts';
import { type EventBus, type Received, type Subscription, watchWithPast } from '@agentlens/messaging';
import {
  BEGINNING,
  FACT_KINDS,
  type FactKind,
  frameId,
  RECORD_KINDS,
  type StoredEvent,
  type StreamFilter,
  type StreamPosition,
  type TriggerNotice,
  USUAL_KINDS,
} from '@agentlens/operations';
import type { StreamFrame } from '@agentlens/platform';
import { eventFromBatch } from '../events/stored-event.ts';
import type { RecordFeed } from './record-feed.ts';
import type { SessionUpdates } from './session-updates.ts';

/** Topic of each kind of fact. */
const FACT_TOPICS: Readonly<Record<FactKind, Topic<object>>> = {
  alert_changed: alertChanged as Topic<object>,
  decision: decisionDecided as Topic<object>,
  delivery: deliverySettled as Topic<object>,
  order: controlOrdered as Topic<object>,
  breaker: breakerChanged as Topic<object>,
  rule: rulesChanged as Topic<object>,
};

interface FeedOptions {
  readonly bus: EventBus;
  readonly tenantId: string;
  readonly filter: StreamFilter;
  /** Position to resume after. Without it the feed starts now. */
  readonly resume?: StreamPosition;
  readonly updates: SessionUpdates;
  readonly record: Pick<RecordFeed, 'follow'>;
  readonly emit: (frame: StreamFrame) => void;
}

/**
 * One client's view of its tenant's topics. Each kept topic is watched from the client's position. For a client without
 * a position, the feed reads the newest message of each subject without sending it. This finds the current position, so
 * that the client can resume from its first frame.
 */
export class LiveFeed {
  readonly #options: FeedOptions;
  readonly #skip: StreamPosition;
  #position: StreamPosition;
  #subscriptions: Subscription[] = [];
  #eventsLive: boolean;
  #triggersLive: boolean;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#skip = options.resume ?? BEGINNING;
    this.#position = this.#skip;
    this.#eventsLive = options.resume !== undefined;
    this.#triggersLive = this.#eventsLive;
  }

  /**
   * Resolves when the feed cannot miss new messages. Messages that a resumed client missed may still be arriving; they
   * are passed on as they arrive.
   */
  async open(): Promise<void> {
    const { bus, tenantId, resume, updates } = this.#options;
    if (resume === undefined) await this.#findNow();
    else await this.#resume(resume);
    const onRun = (message: Received<RunChanged>) => updates.add(message.value.runIds);
    if (this.#wants('session_update')) {
      this.#subscriptions.push(await bus.watch(runChanged, { tenantId, from: 'new' }, onRun));
    }
    for (const kind of FACT_KINDS) if (this.#wants(kind)) await this.#follow(kind);
    if (RECORD_KINDS.some((kind) => this.#wants(kind))) await this.#followRecord();
  }

  async #followRecord(): Promise<void> {
    const { record, tenantId, emit } = this.#options;
    const subscription = await record.follow(tenantId, ({ changes, reached }) => {
      if (this.#wants('audit')) for (const change of changes) emit({ event: 'audit', data: change });
      if (!this.#wants('budget')) return;
      for (const pot of reached) {
        const about = pot.budget.scope === 'agent' ? { agentId: pot.scopeId } : {};
        if (this.#concerns(about)) emit({ event: 'budget', data: pot });
      }
    });
    this.#subscriptions.push(subscription);
  }

  async #follow(kind: FactKind): Promise<void> {
    const { bus, tenantId, emit } = this.#options;
    const onFact = ({ value }: Received<object>) => {
      if (this.#concerns(value)) emit({ event: kind, data: value });
    };
    this.#subscriptions.push(await bus.watch(FACT_TOPICS[kind], { tenantId, from: 'new' }, onFact));
  }

  #wants(kind: string): boolean {
    return (this.#options.filter.kinds ?? USUAL_KINDS).some((wanted) => wanted === kind);
  }

  /** A fact without a run or agent concerns all of them. */
  #concerns(fact: { readonly runId?: string; readonly agentId?: string }): boolean {
    const { sessionId, agentId } = this.#options.filter;
    if (sessionId !== undefined && (fact.runId ?? sessionId) !== sessionId) return false;
    return agentId === undefined || (fact.agentId ?? agentId) === agentId;
  }

  async close(): Promise<void> {
    const open = this.#subscriptions;
    this.#subscriptions = [];
    this.#options.updates.close();
    await Promise.all(open.map((subscription) => subscription.close()));
  }

  /** The id of a frame that is sent now. */
  get frameId(): string {
    return frameId(this.#position);
  }

  async #resume({ batch, trigger }: StreamPosition): Promise<void> {
    const { bus, tenantId } = this.#options;
    // Resume at the batch itself, because some of its events may not have been sent yet.
    const from = Math.max(0, batch - 1);
    this.#subscriptions.push(
      await bus.watch(agentEvents, { tenantId, from }, (message) => this.#onBatch(message)),
      await bus.watch(guardrailTriggered, { tenantId, from: trigger }, (message) => this.#onTrigger(message)),
    );
  }

  async #findNow(): Promise<void> {
    const { bus, tenantId } = this.#options;
    const from = 'last';
    const events = await watchWithPast((onCaughtUp) =>
      bus.watch(agentEvents, { tenantId, from, onCaughtUp }, (message) => this.#onBatch(message)),
    );
    this.#subscriptions.push(events);
    this.#eventsLive = true;
    const triggers = await watchWithPast((onCaughtUp) =>
      bus.watch(guardrailTriggered, { tenantId, from, onCaughtUp }, (message) => this.#onTrigger(message)),
    );
    this.#subscriptions.push(triggers);
    this.#triggersLive = true;
  }

  #onBatch({ value: batch, sequence }: Received<EventBatch>): void {
    if (!this.#eventsLive) {
      if (sequence > this.#position.batch) this.#moveTo({ batch: sequence, events: batch.events.length });
      return;
    }
    const passed = sequence === this.#skip.batch ? this.#skip.events : 0;
    for (const [index, event] of batch.events.entries()) {
      if (index < passed) continue;
      this.#moveTo({ batch: sequence, events: index + 1 });
      this.#showEvent(eventFromBatch(event, batch));
    }
  }

  #showEvent(event: StoredEvent): void {
    const { sessionId, agentId, eventType } = this.#options.filter;
    if (!this.#wants('event')) return;
    if (sessionId !== undefined && event.sessionId !== sessionId) return;
    if (agentId !== undefined && event.agentId !== agentId) return;
    if (eventType !== undefined && !eventType.includes(event.eventType) && !eventType.includes(event.kind)) return;
    this.#options.emit({ event: 'event', id: this.frameId, data: event });
  }

  #onTrigger({ value: trigger, sequence }: Received<Trigger>): void {
    this.#moveTo({ trigger: Math.max(sequence, this.#position.trigger) });
    if (!this.#triggersLive || !this.#wants('alert')) return;
    const { sessionId, agentId } = this.#options.filter;
    if (sessionId !== undefined && trigger.runId !== sessionId) return;
    if (agentId !== undefined && trigger.agentId !== agentId) return;
    this.#options.emit({ event: 'alert', id: this.frameId, data: alertOf(trigger) });
  }

  #moveTo(place: Partial<StreamPosition>): void {
    this.#position = { ...this.#position, ...place };
  }
}

/** The fields that AgentLens clients read, then the platform's own. */
function alertOf(trigger: Trigger): TriggerNotice {
  return {
    ruleId: trigger.ruleId,
    name: trigger.ruleName,
    currentValue: trigger.conditionValue,
    threshold: trigger.conditionThreshold,
    comparison: trigger.comparison ?? null,
    message: trigger.message,
    triggeredAt: trigger.triggeredAt,
    triggerId: trigger.id,
    agentId: trigger.agentId,
    sessionId: trigger.runId ?? null,
    eventId: trigger.eventId ?? null,
    actionType: trigger.actionType,
    dryRun: trigger.dryRun,
  };
}
