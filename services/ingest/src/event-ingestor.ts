import type { TranslatedEvent } from '@agentlens/contracts';
import { type ProblemException, runStages } from '@agentlens/platform';
import type { EventOutcome } from './http/answers.ts';
import {
  type AdmissionRequest,
  type AdmissionStage,
  type Batch,
  CapacityStage,
  type Handover,
  type IngestParts,
  judge,
  judgeOwn,
  PaceStage,
  publish,
  QueueStage,
  QuotaStage,
  type Reply,
  takeTurn,
} from './stages.ts';

/**
 * The way of events through the gateway, for every route. Each step may reject, with its own metric and answer; later
 * steps do not see what was rejected.
 */
export class EventIngestor {
  readonly #parts: IngestParts;
  readonly #beforeBody: QueueStage;
  /** Once per request. */
  readonly #admission: readonly AdmissionStage<AdmissionRequest>[];

  constructor(parts: IngestParts) {
    const queue = new QueueStage(parts);
    this.#parts = parts;
    this.#beforeBody = queue;
    this.#admission = [
      // First, so that a loud client reaches its own limit before that of the platform.
      new QuotaStage(parts),
      queue,
      new CapacityStage(parts),
      // Last, because it derives the throughput from what it admitted.
      new PaceStage(parts),
    ];
  }

  /** Call before the body is read. @throws ProblemException 429 */
  refuseIfFull(tenantId: string): void {
    throwIfRefused(this.#beforeBody.run({ caller: { tenantId }, cost: 0 }));
  }

  /** @throws ProblemException */
  async admit(caller: AdmissionRequest['caller'], cost: number, reply: Reply): Promise<void> {
    throwIfRefused(await runStages(this.#admission, { caller, cost, reply }));
  }

  /**
   * Takes the events of an admitted request. Resolves when every accepted event is safe. OTLP requests are split into
   * batches.
   *
   * @throws ProblemException
   */
  async take(sender: Batch['sender'], handover: Handover): Promise<readonly EventOutcome[]> {
    const batch: Batch = { sender, handover };
    using _turn = await takeTurn(this.#parts, batch);
    const { events, outcomes } = await judge(this.#parts, batch);
    await publish(this.#parts, events);
    return outcomes;
  }

  /** Records one event that the gateway made from a call. Resolves when it is safe. @throws ProblemException */
  async record(tenantId: string, event: TranslatedEvent): Promise<void> {
    await publish(this.#parts, await judgeOwn(this.#parts, tenantId, event));
  }
}

function throwIfRefused(refusal: ProblemException | undefined): void {
  if (refusal !== undefined) throw refusal;
}
