import type { Conformance, ConformanceAnswer } from './conformance.ts';
import type { DocumentedOperation } from './document.ts';

interface Wrong {
  readonly defect: string;
  times: number;
}

const SHOWN_CHARS = 200;

/** Results of many requests: their statuses, and responses that do not match the document. */
export class Judgement {
  /** Number of responses by status. */
  readonly statuses: Record<number, number> = {};
  serverErrors = 0;
  nonconforming = 0;
  private readonly conformance: Conformance;
  /** Defects by operation, status and deviation, each once. */
  private readonly wrong = new Map<string, Wrong>();
  private readonly succeeded = new Set<string>();

  constructor(conformance: Conformance) {
    this.conformance = conformance;
  }

  judge(operation: DocumentedOperation, asked: string, answer: ConformanceAnswer): { readonly ok: boolean } {
    const { status, text } = answer;
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const complaints = this.conformance.complaints(operation, answer);
    if (status >= 200 && status < 300) this.succeeded.add(nameOf(operation));
    if (status >= 500) this.serverErrors += 1;
    if (complaints.length > 0) this.nonconforming += 1;
    if (complaints.length === 0 && status < 500) return { ok: true };
    const key = `${nameOf(operation)} ${status}: ${complaints.join('; ')}`;
    const defect = `${key} | ${asked.slice(0, 2 * SHOWN_CHARS)} -> ${text.slice(0, SHOWN_CHARS)}`;
    const known = this.wrong.get(key);
    if (known === undefined) this.wrong.set(key, { defect, times: 1 });
    else known.times += 1;
    return { ok: false };
  }

  /** Each defect once, with one request that shows it, the most frequent first. */
  defects(): string[] {
    return [...this.wrong.values()]
      .sort((a, b) => b.times - a.times)
      .map(({ defect, times }) => `${times} x ${defect}`);
  }

  /** Operations with at least one successful response. */
  succeededOf(operations: readonly DocumentedOperation[]): {
    readonly count: number;
    readonly never: readonly string[];
  } {
    const never = operations.map(nameOf).filter((name) => !this.succeeded.has(name));
    return { count: operations.length - never.length, never };
  }
}

function nameOf({ method, path }: DocumentedOperation): string {
  return `${method} ${path}`;
}
