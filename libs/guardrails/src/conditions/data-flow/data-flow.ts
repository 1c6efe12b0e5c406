import { FLOW_GRADES, LabelName } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
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
    grade: z
      .enum(FLOW_GRADES)
      .default('possible')
      .meta({
        title: 'Evidence',
        description:
          'possible: the data was read earlier in the run tree. carried: the arguments contain a distinctive part of it. ' +
          'proven: they contain the whole value of a field.',
      }),
    clearedBy: choices
      .optional()
      .meta({ title: 'Cleared by', description: 'The label ends when such a call completes.' }),
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
  example: { after: [{ toolTagsAny: ['customer-data'] }], label: 'customer-data', grade: 'possible' },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ after = [], afterDenied = [], label, grade, clearedBy = [] }) {
    const sources = after.map(foldedChoice);
    const denied = afterDenied.map(foldedChoice);
    const clearing = clearedBy.map(foldedChoice);
    const counted = [...sources, ...denied, ...clearing];
    return {
      reads: [],
      countsCall: ({ tool }) => choosesAny(counted, tool),
      countsEveryAgent: true,
      needs({ phase, tool }) {
        if (tool === undefined)
          return { labels: { reads: true, ...(grade === 'possible' ? {} : { compares: [label] }) } };
        const isSource = choosesAny(sources, tool);
        const isClearing = choosesAny(clearing, tool);
        return {
          // Only the result of a call that was asked about and allowed clears: the history knows which ones were.
          ...(isClearing ? { history: true } : {}),
          labels: {
            reads: true,
            ...(isSource ? { sets: [label] } : {}),
            ...(grade === 'possible' ? {} : { compares: [label], ...(isSource ? { prints: [label] } : {}) }),
            ...(choosesAny(denied, tool) ? { setsIfDenied: [label] } : {}),
            ...(phase === 'tool.after' && isClearing ? { clears: [label] } : {}),
          },
        };
      },
      matches({ labels }) {
        const standing = labels?.get(label);
        if (labels === null || standing === undefined) return labels === null ? 'unavailable' : false;
        if (grade === 'possible') return true;
        const { evidence } = standing;
        if (evidence?.grade === 'proven' || evidence?.grade === grade) return true;
        return evidence?.isComplete === true ? false : 'unavailable';
      },
      flow({ labels }) {
        const cause = labels?.get(label);
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
