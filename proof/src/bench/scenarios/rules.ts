import { ruleOfAbsentAgent, TEN_RULES } from '../rule-drafts.ts';
import type { Scenario } from '../scenario.ts';
import { measureVariants, type Variant } from '../variants.ts';

const NONE = 'no rules';
const TEN = '10 rules';

/** The cost of ten rules, and of thousands that do not apply to the events. */
export const rules: Scenario = {
  name: 'rules',
  title: '0, 10, 1,000 and 10,000 rules, all but ten of them for agents that send nothing',
  smoke: false,
  run: (bench) =>
    measureVariants(bench, 'rules', { batchSize: 100, concurrency: 16, seconds: bench.seconds }, [
      {
        name: NONE,
        async prepare(stage) {
          await stage.setRules([]);
          return {};
        },
      },
      tenAnd(0),
      tenAnd(1_000),
      tenAnd(10_000),
    ]),
};

function tenAnd(others: number): Variant {
  return {
    name: others === 0 ? TEN : `${TEN} + ${others} others`,
    beside: others === 0 ? NONE : TEN,
    async prepare(stage) {
      const ids = await stage.setRules(others === 0 ? TEN_RULES : [...TEN_RULES, ruleOfAbsentAgent('absent-0')]);
      const last = ids.at(-1);
      if (others > 1 && last !== undefined) await stage.addAbsent(last, others - 1);
      return {};
    },
  };
}
