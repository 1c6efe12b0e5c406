import type { WireDecision } from '../wire/decision.ts';
import { type AskedQuestion, allow, block, type ScriptedAnswer } from './answers.ts';

export interface TestApproval {
  readonly id: string;
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  readonly args: unknown;
  readonly ruleId: string;
  readonly status: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled';
  readonly reason: string;
}

/** Approvals bound to one call: its run, id, tool and arguments. */
export class TestApprovals {
  readonly #known = new Map<string, TestApproval>();
  readonly #decided: (approval: TestApproval) => void;
  #count = 0;

  constructor(decided: (approval: TestApproval) => void) {
    this.#decided = decided;
  }

  get all(): readonly TestApproval[] {
    return [...this.#known.values()];
  }

  get pending(): readonly TestApproval[] {
    return this.all.filter(({ status }) => status === 'pending');
  }

  approve(id?: string, reason = ''): void {
    this.#decide(id, 'approved', reason);
  }

  deny(id?: string, reason = ''): void {
    this.#decide(id, 'denied', reason);
  }

  expire(id?: string): void {
    this.#decide(id, 'expired', '');
  }

  cancel(id?: string): void {
    this.#decide(id, 'cancelled', '');
  }

  /** Cancels as the server does when an operator kills a run or the whole agent. */
  cancelWaiting(runId: string | undefined, reason: string): void {
    for (const approval of this.pending)
      if (runId === undefined || approval.runId === runId) this.#decide(approval.id, 'cancelled', reason);
  }

  /** Answer to a question that needs a human, by the state of its approval. */
  resolve(
    question: AskedQuestion,
    { ruleId, message }: Extract<ScriptedAnswer, { needsApproval: true }>,
  ): WireDecision {
    const { id, status, reason } = this.#of(question, ruleId);
    if (status === 'approved') return allow();
    if (status !== 'pending') return block(`The approval was ${status}${reason === '' ? '' : `: ${reason}`}`, ruleId);
    const told = `${message}. The call waits for a person (approval ${id})`;
    return { ...block(told, ruleId), cause: { kind: 'HITL_PENDING', approvalId: id, ruleId } };
  }

  #of(question: AskedQuestion, ruleId: string): TestApproval {
    const { runId, callId, args } = question;
    const tool = question.tool?.name ?? '';
    const key = JSON.stringify([runId, callId, tool, args, ruleId]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const id = `approval-${++this.#count}`;
    const opened: TestApproval = { id, runId, callId, tool, args, ruleId, status: 'pending', reason: '' };
    this.#known.set(key, opened);
    return opened;
  }

  /** Without an id: the pending one. */
  #decide(id: string | undefined, status: TestApproval['status'], reason: string): void {
    for (const [key, approval] of this.#known) {
      if (approval.status !== 'pending' || (id !== undefined && approval.id !== id)) continue;
      const decided = { ...approval, status, reason };
      this.#known.set(key, decided);
      this.#decided(decided);
      return;
    }
    throw new Error(id === undefined ? 'no approval is waiting' : `approval ${id} is not waiting`);
  }
}
