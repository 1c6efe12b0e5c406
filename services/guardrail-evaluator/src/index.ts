export { GuardrailEvaluatorModule } from './guardrail-evaluator.module.ts';
