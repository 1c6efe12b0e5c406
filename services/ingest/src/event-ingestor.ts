import type { TranslatedEvent } from '@agentlens/contracts';
import { type ProblemException, runStages } from '@agentlens/platform';
import type { EventOutcome } from './http/answers.ts';
import {
  type AdmissionRequest,
  type Batch,
  CapacityStage,
  type Handover,
  type IngestParts,
  type IngestStage,
  JudgeOwnStage,
  JudgeStage,
  type OwnEvent,
  PaceStage,
  PublishStage,
  QueueStage,
  QuotaStage,
  type Reply,
  TurnStage,
} from './stages.ts';

/**
 * The pipeline of the gateway, for every route. Each stage may reject, with its own metric and answer; later stages do
 * not see what was rejected.
 */
export class EventIngestor {
  readonly #beforeBody: QueueStage;
  /** Once per request. */
  readonly #admission: readonly IngestStage<AdmissionRequest>[];
  /** For the events of an admitted request. OTLP requests are split into batches. */
  readonly #intake: readonly IngestStage<Batch>[];
  readonly #ownEvents: readonly IngestStage<OwnEvent>[];

  constructor(parts: IngestParts) {
    const queue = new QueueStage(parts);
    const publish = new PublishStage(parts);
    this.#beforeBody = queue;
    this.#admission = [
      // First, so that a loud client reaches its own limit before that of the platform.
      new QuotaStage(parts),
      queue,
      new CapacityStage(parts),
      // Last, because it derives the throughput from what it admitted.
      new PaceStage(parts),
    ];
    this.#intake = [new TurnStage(parts), new JudgeStage(parts), publish];
    this.#ownEvents = [new JudgeOwnStage(parts), publish];
  }

  /** Call before the body is read. @throws ProblemException 429 */
  refuseIfFull(tenantId: string): void {
    throwIfRefused(this.#beforeBody.run({ caller: { tenantId }, cost: 0 }));
  }

  /** @throws ProblemException */
  async admit(caller: AdmissionRequest['caller'], cost: number, reply: Reply): Promise<void> {
    throwIfRefused(await runStages(this.#admission, { caller, cost, reply }));
  }

  /** Resolves when every accepted event is safe. @throws ProblemException */
  async take(sender: Batch['sender'], handover: Handover): Promise<readonly EventOutcome[]> {
    const batch: Batch = { sender, handover, outcomes: [] };
    throwIfRefused(await runStages(this.#intake, batch));
    return batch.outcomes;
  }

  /** Records one event that the gateway made from a call. Resolves when it is safe. @throws ProblemException */
  async record(tenantId: string, event: TranslatedEvent): Promise<void> {
    throwIfRefused(await runStages(this.#ownEvents, { tenantId, event }));
  }
}

function throwIfRefused(refusal: ProblemException | undefined): void {
  if (refusal !== undefined) throw refusal;
}
