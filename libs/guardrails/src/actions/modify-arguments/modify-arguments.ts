import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';
import { DETECTOR_NAMES } from '../../detectors/detectors.ts';
import { DotPath } from '../../patterns/dot-path.ts';
import { redactedText, removedAt, setAt } from './changed-arguments.ts';

const ModifyConfig = z
  .strictObject({
    set: z.record(DotPath, z.json()).optional().meta({ title: 'Set', description: 'Values by dot path.' }),
    remove: z.array(DotPath).min(1).max(100).optional().meta({ title: 'Remove' }),
    redact: z.array(z.enum(DETECTOR_NAMES)).min(1).optional().meta({ title: 'Redact' }),
  })
  .refine(({ set, remove, redact }) => set !== undefined || remove !== undefined || redact !== undefined, {
    path: ['set'],
    message: 'is required, or "remove" or "redact"',
  });
type ModifyConfig = z.infer<typeof ModifyConfig>;

/** Lets the call proceed with changed arguments. Has the effect `allow` if they need no change. */
export const modifyArguments: DecisionAction<ModifyConfig> = {
  type: 'modify_arguments',
  title: 'Change the arguments',
  description: 'Sets or removes arguments, and redacts personal data and secrets in all of them.',
  config: ModifyConfig,
  example: { set: { 'options.dryRun': true }, redact: ['credit_card'] },
  phases: ['decision'],
  changesArguments: true,
  urgency: 'control',
  secrets: [],
  addresses: [],
  effect({ set = {}, remove = [], redact = [] }, args) {
    let changed = args;
    for (const path of remove) changed = removedAt(changed, path);
    for (const [path, value] of Object.entries(set)) {
      const next = setAt(changed, path, value);
      if (next === undefined) return { kind: 'missing' };
      changed = next;
    }
    if (redact.length > 0) changed = redactedText(redact, changed);
    return changed === args ? { kind: 'allow' } : { kind: 'modify', args: changed };
  },
};
