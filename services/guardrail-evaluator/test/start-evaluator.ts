import { createHttpApp, createLogger, HealthRegistry, loadConfig, type Platform, startApp } from '@agentlens/platform';
import { GuardrailEvaluatorModule } from '../src/guardrail-evaluator.module.ts';
import { type EvaluatorPorts, wireOnPorts } from '../src/wire.ts';

/** Starts an evaluator like its process does, on the ports of a spec. */
export async function startEvaluator(ports: EvaluatorPorts) {
  const evaluator = wireOnPorts(ports);
  const platform = {
    ...{ bus: ports.bus, config: loadConfig('standalone', {}), health: new HealthRegistry() },
    logger: createLogger({ name: 'test', level: 'silent' }),
  } as Partial<Platform> as Platform;
  const app = await createHttpApp(platform, [GuardrailEvaluatorModule.of(evaluator)]);
  await startApp(app);
  return { evaluator, stop: () => app.close() };
}
