import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';

const ApprovalConfig = z.strictObject({
  title: z.string().trim().min(1).max(200).optional().meta({ title: 'Question' }),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(7 * 86_400)
    .default(900)
    .meta({ title: 'Denied after', unit: 's' }),
});
type ApprovalConfig = z.infer<typeof ApprovalConfig>;

/** Holds the call until a person approves exactly this call. */
export const requireApproval: DecisionAction<ApprovalConfig> = {
  type: 'require_approval',
  title: 'Ask a human',
  description:
    'The call waits until a person approves exactly this call. If no decision is made in time, it is denied.',
  config: ApprovalConfig,
  example: { title: 'May the agent pay this invoice?', expiresInSeconds: 900 },
  phases: ['decision'],
  urgency: 'control',
  asksPeople: true,
  secrets: [],
  addresses: [],
  effect: ({ title, expiresInSeconds }) => ({ kind: 'ask', title, expiresInSeconds }),
};
