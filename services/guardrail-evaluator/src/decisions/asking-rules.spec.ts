import { type ApprovalBinding, COMMANDS } from '@agentlens/contracts';
import { afterEach, describe, expect, it } from '@jest/globals';
import { anAlert } from '../../test/asking.ts';
import { bus, call, named, serviceIn } from './decision-pipeline.testing.ts';

const asking = (name: string) => ({ ...named('pay'), name, actionType: 'require_approval', actionConfig: {} });

describe('two rules that ask for one call', () => {
  let served: { close(): Promise<void> } | undefined;
  afterEach(() => served?.close());

  /** Approves every call. `seen` is what the reviewer saw of each approval, by its first rule. */
  const approve = async (seen: (binding: ApprovalBinding) => ApprovalBinding) => {
    const asked: string[] = [];
    served = await bus.serve(COMMANDS.resolveApproval, async ({ binding }) => {
      asked.push(binding.ruleId);
      return { ok: true as const, value: anAlert({ status: 'approved', approval: seen(binding) }) };
    });
    return asked;
  };

  it('are one approval, which covers both', async () => {
    const asked = await approve((binding) => binding);
    const { ask } = serviceIn({ rules: [asking('First'), asking('Second')] });
    expect((await ask(call('pay'))).verdict).toBe('ALLOW');
    expect(asked).toHaveLength(1);
  });

  it('are two, if the approval was given before the second rule asked', async () => {
    const asked = await approve((binding) => ({ ...binding, also: undefined }));
    const { ask } = serviceIn({ rules: [asking('First'), asking('Second')] });
    expect((await ask(call('pay'))).verdict).toBe('ALLOW');
    expect(new Set(asked).size).toBe(2);
  });

  it('are two, if the second rule has changed since', async () => {
    const asked = await approve((binding) => ({
      ...binding,
      also: binding.also?.map(({ ruleId, ruleVersion }) => ({ ruleId, ruleVersion: ruleVersion + 1 })),
    }));
    const { ask } = serviceIn({ rules: [asking('First'), asking('Second')] });
    await ask(call('pay'));
    expect(new Set(asked).size).toBe(2);
  });
});
