import { canonicalJson, type DecisionRequest, recordedToolName, sha256Hex } from '@agentlens/contracts';
import { type Candidates, candidatesOf, type Fingerprints, fingerprintsOf } from '../flow/fingerprints.ts';
import type { CalledRun, CalledScope, CallHistory, PastCall, WiderScope } from '../ports/call-history.ts';
import {
  type EvidenceNote,
  type LabelCause,
  type LabelledLine,
  labelledLine,
  labelledSession,
  nameSessionLabel,
  type RunLabels,
  type SharedPrints,
  splitLabels,
} from '../ports/label-store.ts';
import type { Totals, WindowStore } from '../ports/window-store.ts';
import { unitOf } from '../rules/rollout.ts';
import { type CallIdentity, otherQuestions } from './call-identity.ts';
import type { FactNeeds, FlowEvidence, LabelFact } from './facts.ts';

/** Reads the facts that rules need from the run's history and the agent's windows, and records the call there. */
export class CallFactsStore {
  readonly #calls: CallHistory;
  readonly #windows: WindowStore;
  readonly #labels: RunLabels;

  constructor(calls: CallHistory, windows: WindowStore, labels: RunLabels) {
    this.#calls = calls;
    this.#windows = windows;
    this.#labels = labels;
  }

  /** Returns the other calls of the run. Enters the call if it is about to begin, completes it if it has ended. */
  history(request: DecisionRequest, identity: CallIdentity): Promise<readonly PastCall[]> {
    return this.#history(runOf(request), request, identity);
  }

  /**
   * Returns true if this is the result of a call of the same tool that was asked about and allowed and has not ended. Ask
   * before `history`, which completes the call.
   */
  async endsAllowedCall(request: DecisionRequest, { callKey, argsHash }: CallIdentity): Promise<boolean> {
    const { phase, tool, callId } = request;
    if (phase !== 'tool.after' || tool === undefined) return false;
    const open = (await this.#calls.read(runOf(request))).filter(({ status }) => status !== 'completed');
    const isAlike = (call: PastCall) =>
      callId === undefined ? call.toolName === tool.name && call.argsHash === argsHash : call.callId === callId;
    const own = open.find((call) => call.callKey === callKey) ?? open.find(isAlike);
    return own?.status === 'allowed' && own.toolName === tool.name && haveEqualTags(own.toolTags, tool.tags);
  }

  /**
   * The same for wider scopes.
   * @throws if the tree of the run is not known
   */
  async histories(
    request: DecisionRequest,
    scopes: readonly WiderScope[],
    identity: CallIdentity,
  ): Promise<ReadonlyMap<WiderScope, readonly PastCall[]>> {
    if (scopes.includes('tree') && request.ancestorsUnknown === true) throw new Error('the run tree is unknown');
    const found = await Promise.all(
      scopesOf(request, scopes).map(async (of) => [of.scope, await this.#history(of, request, identity)] as const),
    );
    return new Map(found);
  }

  async #history(
    of: CalledRun | CalledScope,
    request: DecisionRequest,
    identity: CallIdentity,
  ): Promise<readonly PastCall[]> {
    const { phase, tool, callId } = request;
    if (phase === 'llm.before' || tool === undefined) return this.#calls.read(of);
    const { argsHash, resultHash } = identity;
    const call = {
      ...(callId === undefined ? {} : { callId: 'runId' in of ? callId : keyInScope(request, callId) }),
      ...{ toolName: tool.name, toolTags: tool.tags, argsHash, atMs: Date.parse(request.receivedAt) },
    };
    const callKey = 'runId' in of ? identity.callKey : keyInScope(request, identity.callKey);
    if (resultHash === undefined) return this.#calls.enter(of, { ...call, callKey });
    const durationMs = request.metrics.duration_ms;
    return this.#calls.complete(of, {
      ...call,
      ...{ resultHash, callKey: await this.#begun(of, request, identity, callKey) },
      ...(durationMs === undefined ? {} : { durationMs }),
    });
  }

  /** Returns the needed series as they stood before this call, and adds the call to them. */
  async totals(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity): Promise<readonly Totals[]> {
    const { tenantId, agentId, receivedAt } = request;
    if (needs.increments.length === 0)
      return this.#windows.read(tenantId, agentId, Date.parse(receivedAt), needs.series);
    return (await this.#windows.advance(advanceOf(request, needs, identity, false))).before;
  }

  /** Returns the labels of the run tree, with evidence for those that need it. */
  async labels(
    request: DecisionRequest,
    { compares, readsSession }: Pick<NonNullable<FactNeeds['labels']>, 'compares' | 'readsSession'>,
  ): Promise<ReadonlyMap<string, LabelFact>> {
    const standing = await this.standing(request, { readsSession });
    if (!compares.some((label) => standing.has(label))) return standing;
    return this.compared(request, standing, compares, candidatesOf(request.args, await this.salt(request)));
  }

  /** Returns the labels of the run tree without evidence, and those of the session if they are needed. */
  async standing(
    request: DecisionRequest,
    { readsSession }: Pick<NonNullable<FactNeeds['labels']>, 'readsSession'>,
  ): Promise<ReadonlyMap<string, LabelCause>> {
    const session = readsSession === true ? labelledSession(request) : undefined;
    if (session === undefined) return this.#labels.read(labelledLine(request));
    const [ofTree, ofSession] = await Promise.all([
      this.#labels.read(labelledLine(request)),
      this.#labels.read(session),
    ]);
    return new Map([...ofTree, ...[...ofSession].map(([label, cause]) => [nameSessionLabel(label), cause] as const)]);
  }

  salt({ tenantId }: DecisionRequest): Promise<string> {
    return this.#labels.salt(tenantId);
  }

  /** Adds to standing labels what the arguments share with the results of their source calls. */
  async compared(
    request: DecisionRequest,
    standing: ReadonlyMap<string, LabelCause>,
    compares: readonly string[],
    candidates: Candidates,
  ): Promise<ReadonlyMap<string, LabelFact>> {
    const isComplete = candidates.isComplete && request.unread?.args === undefined;
    const found = await Promise.all(
      sortByLine(
        request,
        compares.filter((label) => standing.has(label)),
      ).flatMap(({ line, labels, name }) =>
        labels.map(async (label) => {
          const shared = await this.#labels.compare(line, label, candidates.prints);
          return [name(label), evidenceOf(shared, candidates, isComplete)] as const;
        }),
      ),
    );
    const facts = new Map<string, LabelFact>(standing);
    for (const [label, evidence] of found) {
      const cause = standing.get(label);
      if (cause !== undefined) facts.set(label, { ...cause, evidence });
    }
    return facts;
  }

  /**
   * Clears and sets the labels of the run tree for a call that is about to be allowed. Must finish before the answer
   * is sent: from then on the data may be anywhere in the tree.
   * @param fingerprints of the result of a source call; found here if absent
   * @returns the labels that could not be set because the tree has too many
   */
  async label(
    request: DecisionRequest,
    { sets, clears, prints }: Pick<NonNullable<FactNeeds['labels']>, 'sets' | 'clears' | 'prints'>,
    identity: CallIdentity,
    fingerprints?: Fingerprints,
  ): Promise<readonly string[]> {
    const { agentId, runId, tool, callId, receivedAt } = request;
    for (const { line, labels } of sortByLine(request, clears)) await this.#labels.clear(line, labels);
    if (sets.length === 0) return [];
    const cause = {
      ...{ runId, agentId, toolName: recordedToolName(tool?.name ?? '') },
      ...(callId === undefined ? {} : { callId }),
      atMs: Date.parse(receivedAt),
    };
    let evidence: Promise<EvidenceNote> | undefined;
    const rejected: string[] = [];
    for (const { line, labels, name } of sortByLine(
      request,
      sets.map(({ label }) => label),
    )) {
      const unset = await this.#labels.set(line, labels, cause);
      rejected.push(...unset.map(name));
      const noted = labels.filter((label) => prints.includes(name(label)) && !unset.includes(label));
      if (noted.length === 0) continue;
      evidence ??= this.#evidence(request, identity, cause, fingerprints);
      await this.#labels.note(line, noted, await evidence);
    }
    return rejected;
  }

  /** What a source call adds to the evidence of its labels. */
  async #evidence(
    request: DecisionRequest,
    { argsHash }: CallIdentity,
    cause: LabelCause,
    fingerprints?: Fingerprints,
  ): Promise<EvidenceNote> {
    const { runId, phase, tool, callId, result, unread } = request;
    const call = sha256Hex(canonicalJson([runId, tool?.name ?? '', callId ?? argsHash]));
    if (phase !== 'tool.after') return { kind: 'called', call };
    const { prints, isComplete } = fingerprints ?? fingerprintsOf(result, await this.salt(request));
    return { kind: 'returned', call, cause, prints, isComplete: isComplete && unread?.result === undefined };
  }

  /**
   * Records that the call proceeds (with `modifiedArgs`, if rules changed its arguments) or that its result was
   * accepted.
   */
  async allowed(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: CallIdentity,
    modifiedArgs?: unknown,
  ): Promise<void> {
    // After a change of arguments, no later request uses this question's name.
    const own = modifiedArgs === undefined ? [] : [identity.once ?? identity.decisionId];
    const answered = this.#forget(request, needs, identity, [
      ...own,
      ...otherQuestions(request, identity, modifiedArgs),
    ]);
    await this.#settle(request, needs, identity, 'allowed');
    await answered;
  }

  /** Records that the call was rejected, so it does not count. A call whose result was rejected still counts. */
  async refused(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity): Promise<void> {
    const undone =
      needs.undo.length === 0 ? undefined : this.#windows.advance(advanceOf(request, needs, identity, true));
    await this.#settle(request, needs, identity, 'refused');
    await undone;
    const names = request.phase === 'tool.after' ? otherQuestions(request, identity) : [identity.once ?? ''];
    await this.#forget(request, needs, identity, names);
  }

  async #settle(
    request: DecisionRequest,
    { history, histories = [] }: FactNeeds,
    { callKey }: CallIdentity,
    outcome: 'allowed' | 'refused',
  ): Promise<void> {
    if (request.phase !== 'tool.before') return;
    await Promise.all([
      history ? this.#calls.settle(runOf(request), callKey, outcome) : undefined,
      ...scopesOf(request, histories).map((of) => this.#calls.settle(of, keyInScope(request, callKey), outcome)),
    ]);
  }

  /**
   * Returns the key under which the ended call was entered. Without call ids, this is the oldest equal call that has
   * not ended.
   */
  async #begun(
    of: CalledRun | CalledScope,
    request: DecisionRequest,
    { argsHash }: CallIdentity,
    callKey: string,
  ): Promise<string> {
    if (request.callId !== undefined) return callKey;
    const past = await this.#calls.read(of);
    const same = (call: PastCall) => call.toolName === request.tool?.name && call.argsHash === argsHash;
    return past.find((call) => call.status !== 'completed' && same(call))?.callKey ?? callKey;
  }

  /** Later requests under these names are counted again. */
  async #forget(
    { tenantId, agentId, runId, phase }: DecisionRequest,
    { series }: FactNeeds,
    { once }: CallIdentity,
    questions: readonly string[],
  ): Promise<void> {
    if (once === undefined || series.length === 0 || phase === 'llm.before') return;
    const ids = questions.flatMap((question) => [true, false].map((undo) => messageId(runId, question, undo)));
    await this.#windows.forget(tenantId, agentId, ids);
  }
}

/** The strongest grade of what arguments share with results. */
function evidenceOf(shared: SharedPrints, candidates: Candidates, isWhole: boolean): FlowEvidence {
  const isComplete = shared.isComplete && isWhole;
  const proof = shared.found.find(({ print, place }) => candidates.isWhole(print, place));
  const strongest = proof ?? shared.found[0];
  if (strongest === undefined) return { grade: 'none', isComplete };
  const { place, source } = strongest;
  return {
    ...{ grade: proof === undefined ? 'carried' : 'proven', isComplete, field: place.field, source },
    without(isLeftOut) {
      const found = shared.found.filter((one) => !isLeftOut(one.place.field));
      return evidenceOf({ ...shared, found }, candidates, isWhole);
    },
  };
}

function scopesOf(request: DecisionRequest, scopes: readonly WiderScope[]): CalledScope[] {
  const { tenantId } = request;
  return scopes.map((scope) => ({ tenantId, scope, scopeId: scope === 'tenant' ? '' : unitOf(scope, request) }));
}

/** Client ids are unique within a run only. */
function keyInScope({ runId }: DecisionRequest, callKey: string): string {
  return `${runId}\n${callKey}`;
}

function runOf({ tenantId, runId }: DecisionRequest): CalledRun {
  return { tenantId, runId };
}

/** Uses a message id derived from the question, so that a retry gets the same answer and is counted once. */
function advanceOf(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity, undo: boolean) {
  const { tenantId, agentId, runId, receivedAt } = request;
  const question = identity.once ?? identity.decisionId;
  return {
    ...{ tenantId, agentId, nowMs: Date.parse(receivedAt), series: needs.series, retryable: [], cooldowns: [] },
    messageId: messageId(runId, question, undo),
    increments: undo ? needs.undo : needs.increments,
  };
}

function messageId(runId: string, question: string, undo: boolean): string {
  return `${undo ? 'undo' : 'ask'}#${runId}#${question}`;
}

function haveEqualTags(some: readonly string[], others: readonly string[]): boolean {
  return some.every((tag) => others.includes(tag)) && others.every((tag) => some.includes(tag));
}

/** Labels with the line that holds them. Those of a session are left out of a call without a session. */
function sortByLine(
  request: DecisionRequest,
  names: readonly string[],
): { readonly line: LabelledLine; readonly labels: readonly string[]; readonly name: (label: string) => string }[] {
  const { tree, session } = splitLabels([...new Set(names)]);
  const ofSession = labelledSession(request);
  return [
    { line: labelledLine(request), labels: tree, name: (label: string) => label },
    ...(ofSession === undefined ? [] : [{ line: ofSession, labels: session, name: nameSessionLabel }]),
  ].filter(({ labels }) => labels.length > 0);
}
