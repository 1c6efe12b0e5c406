import type { DecisionRequest } from '@agentlens/contracts';
import {
  CallFactsStore,
  type CallHistory,
  type CallIdentity,
  candidatesOf,
  type DecisionFacts,
  type FactNeeds,
  type Fingerprints,
  fingerprintsOf,
  type LabelFact,
  type PastCall,
  type RunLabels,
  type Unavailable,
  type WindowStore,
} from '@agentlens/guardrails';
import type { Platform } from '@agentlens/platform';
import type { AgentDirectory } from './agent-directory.ts';
import { FingerprintWork } from './fingerprint-work.ts';
import type { Deadline, StateCircuit } from './state-circuit.ts';

interface FactGathererDependencies {
  readonly calls: CallHistory;
  readonly labels: RunLabels;
  readonly windows: WindowStore;
  readonly agents: Pick<AgentDirectory, 'agent'>;
  readonly circuit: Pick<StateCircuit, 'ask' | 'away'>;
  readonly logger: Platform['logger'];
}

/** The earlier calls of the run, or why they could not be fetched. */
export type FetchedHistory = readonly PastCall[] | Unavailable;

const ALLOWED_BEFORE = {};

/** Fetches the facts that rules need, concurrently, and notes the call in the same step. */
export class FactGatherer {
  readonly #parts: FactGathererDependencies;
  readonly #store: CallFactsStore;
  readonly #work = new FingerprintWork();

  constructor(parts: FactGathererDependencies) {
    this.#parts = parts;
    this.#store = new CallFactsStore(parts.calls, parts.windows, parts.labels);
  }

  /** @param fetchHistory also notes the call, once for all callers of the call */
  async gather(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: CallIdentity,
    deadline: Deadline,
    fetchHistory: () => Promise<FetchedHistory>,
  ): Promise<DecisionFacts> {
    const { argsHash, resultHash } = identity;
    const { circuit, agents } = this.#parts;
    const failed = (error: unknown) => this.#failed(request, error);
    const { histories: scopes = [] } = needs;
    const [history, histories, totals, labels, agent] = await Promise.all([
      needs.history ? fetchHistory() : undefined,
      scopes.length > 0
        ? circuit.ask(deadline, () => this.#store.histories(request, scopes, identity), failed)
        : undefined,
      needs.series.length > 0
        ? circuit.ask(deadline, () => this.#store.totals(request, needs, identity), failed)
        : undefined,
      needs.labels?.reads === true ? this.#labels(request, needs.labels, deadline) : undefined,
      needs.agent ? deadline.within(agents.agent(request.tenantId, request.agentId), failed) : undefined,
    ]);
    return {
      ...{ needs, argsHash },
      ...(resultHash === undefined ? {} : { resultHash }),
      ...(history === undefined ? {} : { history }),
      ...(histories === undefined ? {} : { histories }),
      ...(totals === undefined ? {} : { totals }),
      ...(labels === undefined ? {} : { labels }),
      ...(agent == null ? {} : { agent }),
    };
  }

  /**
   * Sets and clears the labels that the call needs, before it is allowed. Returns the labels that the tree has no room
   * for, or why none were set.
   */
  async label(
    request: DecisionRequest,
    needs: Parameters<CallFactsStore['label']>[1],
    identity: CallIdentity,
    deadline: Deadline,
  ): Promise<readonly string[] | Unavailable> {
    const fingerprints = await this.#fingerprints(request, needs, deadline);
    const labelled = () => this.#store.label(request, needs, identity, fingerprints);
    const result = await this.#parts.circuit.ask(deadline, labelled, (error) => this.#failed(request, error));
    // Runs above the known ancestors would not find the label.
    return request.ancestorsUnknown === true ? 'unavailable' : result;
  }

  async #labels(
    request: DecisionRequest,
    needs: NonNullable<FactNeeds['labels']>,
    deadline: Deadline,
  ): Promise<ReadonlyMap<string, LabelFact> | Unavailable> {
    if (request.ancestorsUnknown === true) return 'unavailable';
    const { circuit } = this.#parts;
    const failed = (error: unknown) => this.#failed(request, error);
    const standing = await circuit.ask(deadline, () => this.#store.standing(request, needs), failed);
    if (typeof standing === 'string' || !needs.compares.some((label) => standing.has(label))) return standing;
    // Not within the circuit: this is work of this process, and says nothing about the store.
    const candidates = await this.#compareWith(request, deadline, (salt) => candidatesOf(request.args, salt));
    if (typeof candidates === 'string') return candidates;
    const compared = () => this.#store.compared(request, standing, needs.compares, candidates);
    return circuit.ask(deadline, compared, failed);
  }

  /** Of the result of a source call. Without them, the label stands for everything that the result may hold. */
  async #fingerprints(
    request: DecisionRequest,
    { prints }: Pick<NonNullable<FactNeeds['labels']>, 'prints'>,
    deadline: Deadline,
  ): Promise<Fingerprints | undefined> {
    if (prints.length === 0 || request.phase !== 'tool.after') return undefined;
    const found = await this.#compareWith(request, deadline, (salt) => fingerprintsOf(request.result, salt));
    return typeof found === 'string' ? { prints: new Map(), isComplete: false } : found;
  }

  async #compareWith<T extends object>(
    request: DecisionRequest,
    deadline: Deadline,
    work: (salt: string) => T,
  ): Promise<T | Unavailable> {
    try {
      const salt = await this.#store.salt(request);
      return await this.#work.run(request.tenantId, deadline, () => work(salt));
    } catch (error) {
      this.#failed(request, error);
      return 'unavailable';
    }
  }

  /** Whether the result is one of a call that was asked about and allowed; false if that is unknown. */
  async endsAllowedCall(request: DecisionRequest, identity: CallIdentity, deadline: Deadline): Promise<boolean> {
    const read = async () => ((await this.#store.endsAllowedCall(request, identity)) ? ALLOWED_BEFORE : null);
    const answer = await this.#parts.circuit.ask(deadline, read, (error) => this.#failed(request, error));
    return answer === ALLOWED_BEFORE;
  }

  /** Notes the call, or its result, in the history of its run. */
  async history(request: DecisionRequest, identity: CallIdentity, deadline: Deadline): Promise<FetchedHistory> {
    const noted = () => this.#store.history(request, identity);
    return this.#parts.circuit.ask(deadline, noted, (error) => this.#failed(request, error));
  }

  /**
   * Notes that the call goes ahead, with `modifiedArgs` if a rule changed its arguments, or that its result is
   * accepted.
   */
  async allowed(...noted: Parameters<CallFactsStore['allowed']>): Promise<void> {
    if (!this.#parts.circuit.away) await this.#store.allowed(...noted);
  }

  /** Notes that the call does not happen and therefore does not count. A call whose result is blocked still counts. */
  async refused(...noted: Parameters<CallFactsStore['refused']>): Promise<void> {
    if (!this.#parts.circuit.away) await this.#store.refused(...noted);
  }

  #failed({ tenantId }: DecisionRequest, error: unknown): void {
    this.#parts.logger.warn({ err: error, tenantId }, 'fetching the facts of a decision failed');
  }
}
