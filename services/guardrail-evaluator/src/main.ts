import { runService } from '@agentlens/platform';
import { GuardrailEvaluatorModule } from './guardrail-evaluator.module.ts';

await runService('guardrail-evaluator', GuardrailEvaluatorModule);
