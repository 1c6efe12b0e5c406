import { FLOW_GRADES, LabelName } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import type { LabelFact } from '../../decisions/facts.ts';
import { DotPath } from '../../patterns/dot-path.ts';
import { nameSessionLabel } from '../../ports/label-store.ts';
import { choosesAny, foldedChoice, ToolChoice } from '../which-calls.ts';

const choices = z.array(ToolChoice).min(1, 'must not be empty').max(50);
const DataFlowConfig = z
  .strictObject({
    after: choices.optional().meta({ title: 'After one of these calls', description: 'Calls that read the data.' }),
    afterDenied: choices.optional().meta({
      title: 'After a failed approval of one of these calls',
      description: 'The approval was denied, expired or was cancelled.',
    }),
    label: LabelName.meta({ title: 'Label', description: 'Rules with the same label share it.' }),
    scope: z.enum(['tree', 'session']).default('tree').meta({
      title: 'Followed through',
      description:
        'tree: the run, its parents and sub-runs. session: also the other runs of the session, such as later turns of a chat.',
    }),
    grade: z
      .enum(FLOW_GRADES)
      .default('possible')
      .meta({
        title: 'Evidence',
        description:
          'possible: the data was read earlier in the run tree. carried: the arguments contain a distinctive part of it. ' +
          'proven: they contain the whole value of a field.',
      }),
    notData: z
      .array(DotPath)
      .min(1, 'must not be empty')
      .max(50)
      .optional()
      .meta({
        title: 'Not data',
        description:
          'Members of results that agents have to pass back, such as "cursor" or "items.*.handle"; * is any name or index. ' +
          'A tool can put data into them.',
      }),
    clearedBy: choices
      .optional()
      .meta({ title: 'Cleared by', description: 'The label ends when such a call completes.' }),
  })
  .refine(({ notData, grade }) => notData === undefined || grade !== 'possible', {
    path: ['notData'],
    message: 'needs the grade "carried" or "proven": "possible" compares no values',
  })
  .refine(({ after, afterDenied }) => after !== undefined || afterDenied !== undefined, {
    path: ['after'],
    message: 'must name calls, unless "afterDenied" does',
  });
type DataFlowConfig = z.infer<typeof DataFlowConfig>;

/** Detects that data which another call of the run tree read may leave with this call. */
export const dataFlow: CallCondition<DataFlowConfig> = {
  type: 'data_flow',
  title: 'Data flow',
  description: 'The run, its parents or its sub-runs made a call that reads certain data.',
  unit: '',
  cadence: 'call',
  config: DataFlowConfig,
  example: { after: [{ toolTagsAny: ['customer-data'] }], label: 'customer-data', scope: 'tree', grade: 'possible' },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ after = [], afterDenied = [], label, scope, grade, notData = [], clearedBy = [] }) {
    const isLeftOut = matchFields(notData);
    const compared = (standing: LabelFact) => leaveOut(standing, notData.length === 0 ? undefined : isLeftOut);
    const isSession = scope === 'session';
    const names = isSession ? [label, nameSessionLabel(label)] : [label];
    const reads = { reads: true, ...(isSession ? { readsSession: true } : {}) };
    const sources = after.map(foldedChoice);
    const denied = afterDenied.map(foldedChoice);
    const clearing = clearedBy.map(foldedChoice);
    const counted = [...sources, ...denied, ...clearing];
    return {
      reads: [],
      countsCall: ({ tool }) => choosesAny(counted, tool),
      countsEveryAgent: true,
      needs({ phase, tool }) {
        if (tool === undefined) return { labels: { ...reads, ...(grade === 'possible' ? {} : { compares: names }) } };
        const isSource = choosesAny(sources, tool);
        const isClearing = choosesAny(clearing, tool);
        return {
          // Only the result of a call that was asked about and allowed clears: the history knows which ones were.
          ...(isClearing ? { history: true } : {}),
          labels: {
            ...reads,
            ...(isSource ? { sets: names } : {}),
            ...(grade === 'possible' ? {} : { compares: names, ...(isSource ? { prints: names } : {}) }),
            ...(choosesAny(denied, tool) ? { setsIfDenied: names } : {}),
            ...(phase === 'tool.after' && isClearing ? { clears: names } : {}),
          },
        };
      },
      matches({ labels }) {
        if (labels === null) return 'unavailable';
        const answers = names.flatMap((name) => {
          const standing = labels?.get(name);
          return standing === undefined ? [] : judge(compared(standing), grade);
        });
        if (answers.includes(true)) return true;
        return answers.includes('unavailable') ? 'unavailable' : false;
      },
      flow({ labels }) {
        const standing = names.flatMap((name) => labels?.get(name) ?? []).map(compared);
        const cause = standing.find((one) => judge(one, grade) === true) ?? standing[0];
        if (cause === undefined) return null;
        const { evidence, ...first } = cause;
        if (grade === 'possible' || evidence === undefined || evidence.grade === 'none')
          return { label, grade: 'possible', source: first };
        const { field } = evidence;
        const found = field === undefined ? {} : { field };
        return { label, grade: evidence.grade, ...found, source: evidence.source ?? first };
      },
    };
  },
};

function leaveOut(standing: LabelFact, isLeftOut: ((field: string) => boolean) | undefined): LabelFact {
  const { evidence } = standing;
  if (isLeftOut === undefined || evidence?.without === undefined) return standing;
  return { ...standing, evidence: evidence.without(isLeftOut) };
}

/** Matches the fields that a path names, and what is in them. */
function matchFields(paths: readonly string[]): (field: string) => boolean {
  const wanted = paths.map((path) => path.split('.'));
  return (field) => {
    const names = field.split('.');
    return wanted.some((path) => path.every((part, at) => at < names.length && (part === '*' || part === names[at])));
  };
}

/** Whether the evidence of a label that stands has the wanted grade. */
function judge({ evidence }: LabelFact, grade: (typeof FLOW_GRADES)[number]): boolean | 'unavailable' {
  if (grade === 'possible' || evidence?.grade === 'proven' || evidence?.grade === grade) return true;
  return evidence?.isComplete === true ? false : 'unavailable';
}
