import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';

const text = z.string().min(1).max(256);

const SubjectConfig = z.strictObject({
  subjectType: text.meta({ title: 'Kind of subject' }),
  value: text.optional().meta({ title: 'With this id' }),
  role: text.optional().meta({ title: 'In this role' }),
  idSystem: text.optional().meta({ title: 'Of this id system' }),
});
type SubjectConfig = z.infer<typeof SubjectConfig>;

/** Subject of a call, as reported by the agent. Nest it in `not` to require a subject. */
export const subject: CallCondition<SubjectConfig> = {
  type: 'subject',
  title: 'Subject',
  description: 'The call is about a subject of this kind, such as a customer or an account.',
  unit: '',
  cadence: 'call',
  config: SubjectConfig,
  example: { subjectType: 'patient', idSystem: 'nhs' },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ subjectType, value, role, idSystem }) {
    return {
      reads: ['subjects'],
      matches: ({ request: { subjects } }) =>
        subjects.some(
          (one) =>
            one.subjectType === subjectType &&
            (value === undefined || one.value === value) &&
            (role === undefined || one.role === role) &&
            (idSystem === undefined || one.idSystem === idSystem),
        ),
    };
  },
};
