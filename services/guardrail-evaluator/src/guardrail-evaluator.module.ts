import { type Platform, providersOf } from '@agentlens/platform';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { EvaluatorCommands } from './commands.controller.ts';
import { EvaluationController } from './evaluation.controller.ts';
import { EvaluatorLifecycle } from './lifecycle.ts';
import { type WiredEvaluator, wireEvaluator } from './wire.ts';

/** Evaluates events against guardrail rules, decides about calls, and owns rules, breakers and budgets. */
@Module({ controllers: [EvaluatorCommands, EvaluationController] })
export class GuardrailEvaluatorModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(EvaluatorLifecycle) private readonly lifecycle: EvaluatorLifecycle) {}

  static register(platform: Platform): DynamicModule {
    return GuardrailEvaluatorModule.of(wireEvaluator(platform));
  }

  /** The module of an evaluator that has already been built. */
  static of(wired: WiredEvaluator): DynamicModule {
    return { module: GuardrailEvaluatorModule, providers: providersOf({ ...wired }) };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.lifecycle.start();
  }

  /** Message handlers have stopped at this point. */
  async onApplicationShutdown(): Promise<void> {
    await this.lifecycle.stop();
  }
}
