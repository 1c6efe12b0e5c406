import { metrics } from '@opentelemetry/api';
import type { RefusalReason } from './intake/refusal.ts';

/** Why a whole request was rejected. */
type TurnedAway = 'quota' | 'overload' | 'saturated' | 'unavailable' | 'key_reused' | 'envelope';

/** Metrics of the gateway. Does nothing without a telemetry SDK. */
export class IngestMetrics {
  readonly #accepted;
  readonly #refused;
  readonly #turnedAway;
  readonly #batchEvents;
  readonly #unpriced;
  readonly #shed;
  readonly #lostByClients;

  constructor() {
    const meter = metrics.getMeter('@agentlens/ingest');
    this.#accepted = meter.createCounter('agentlens.ingest.events_accepted', {
      description: 'Events that are stored and acknowledged',
    });
    this.#refused = meter.createCounter('agentlens.ingest.events_rejected', {
      description: 'Rejected events, by reason',
    });
    this.#turnedAway = meter.createCounter('agentlens.ingest.requests_turned_away', {
      description: 'Requests rejected as a whole, by reason',
    });
    this.#batchEvents = meter.createHistogram('agentlens.ingest.batch_events', {
      description: 'Events per published message, after coalescing',
      advice: { explicitBucketBoundaries: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    });
    this.#shed = meter.createCounter('agentlens.ingest.events_shed', {
      description:
        'Events rejected because evaluation is behind and their tenant is among the loudest, without those of unread requests',
    });
    this.#lostByClients = meter.createCounter('agentlens.ingest.client_events_dropped', {
      description: 'Events that SDKs report as lost before they arrived, each report counted once',
    });
    this.#unpriced = meter.createCounter('agentlens.ingest.events_unpriced', {
      description: 'Events that cost money, with unknown cost',
    });
  }

  accepted(count: number, unpriced: number): void {
    this.#accepted.add(count);
    if (unpriced > 0) this.#unpriced.add(unpriced);
  }

  lostByClients(count: number): void {
    if (count > 0) this.#lostByClients.add(count);
  }

  refused(reason: RefusalReason): void {
    this.#refused.add(1, { reason });
  }

  turnedAway(reason: TurnedAway): void {
    this.#turnedAway.add(1, { reason });
  }

  shed(events: number): void {
    this.turnedAway('overload');
    this.#shed.add(events);
  }

  published(events: number): void {
    this.#batchEvents.record(events);
  }
}
