import type { COMMANDS, Problem, QuestionOf } from '@agentlens/contracts';
import type { LabelledLine } from '@agentlens/guardrails';
import type { RecordedLabels } from './recorded-labels.ts';

const NOT_STANDING: Problem = {
  error: 'The run has no such label',
  status: 404,
  hint: 'GET /api/runs/:id/labels lists the labels that stand.',
};

/** Handles commands on the labels of run trees. */
export class LabelCommands {
  constructor(private readonly labels: Pick<RecordedLabels, 'read' | 'clearFor'>) {}

  async read(question: QuestionOf<typeof COMMANDS.readLabels>) {
    const standing = await this.labels.read(lineOf(question));
    const labels = [...standing].map(([label, { atMs, ...source }]) => ({
      label,
      source: { ...source, at: new Date(atMs).toISOString() },
    }));
    return { ok: true, value: { labels } } as const;
  }

  async clear({ label, author, reason, ...question }: QuestionOf<typeof COMMANDS.clearLabel>) {
    const isCleared = await this.labels.clearFor(lineOf(question), { label, author, reason });
    return isCleared ? ({ ok: true, value: { ok: true } } as const) : ({ ok: false, problem: NOT_STANDING } as const);
  }
}

function lineOf({ tenantId, runIds }: { readonly tenantId: string; readonly runIds: readonly string[] }): LabelledLine {
  const [runId = '', ...ancestors] = runIds;
  return { tenantId, runIds: [runId, ...ancestors] };
}
