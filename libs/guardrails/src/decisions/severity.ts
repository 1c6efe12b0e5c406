import { DECISION_EFFECTS, type DecisionEffect } from '@agentlens/contracts';

/** The most severe of some effects; of none, `allow`. */
export function mostSevere(effects: readonly DecisionEffect[]): DecisionEffect {
  return effects.reduce<DecisionEffect>(
    (worst, effect) => (severityOf(effect) > severityOf(worst) ? effect : worst),
    'allow',
  );
}

function severityOf(effect: DecisionEffect): number {
  return DECISION_EFFECTS.indexOf(effect);
}
