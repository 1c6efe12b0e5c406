import { DecisionGateway, LocalDecisionPath } from '@agentlens/decisions';
import { type Platform, PriceBooks, portProviders, providersOf } from '@agentlens/platform';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { OpenAnswers } from './calls/open-answers.ts';
import { GatewayRoutes } from './gateway.routes.ts';
import { ModelProviderClient } from './providers/model-provider-client.ts';
import { CallRecorder } from './records/call-recorder.ts';
import { AnswerTools } from './tools/answer-tools.ts';
import { wireModelGateway } from './wire.ts';

/** The gateway between agents and model providers. Owns no table: what happens goes to the stream of events. */
@Module({})
export class ModelGatewayModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(PriceBooks) private readonly prices: PriceBooks,
    @Inject(OpenAnswers) private readonly openAnswers: OpenAnswers,
    @Inject(DecisionGateway) private readonly decisions: DecisionGateway,
    @Inject(LocalDecisionPath) private readonly decisionPath: LocalDecisionPath,
    @Inject(CallRecorder) private readonly recorder: CallRecorder,
    @Inject(AnswerTools) private readonly tools: AnswerTools,
    @Inject(ModelProviderClient) private readonly provider: ModelProviderClient,
  ) {}

  static register(platform: Platform): DynamicModule {
    return {
      module: ModelGatewayModule,
      providers: [
        ...portProviders(platform, 'model-gateway'),
        ...providersOf(wireModelGateway(platform)),
        GatewayRoutes,
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.prices.start();
    await this.decisionPath.start();
    await this.decisions.start();
    await this.openAnswers.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.openAnswers.stop();
    await this.provider.close();
    await this.tools.drain();
    await this.decisions.drain();
    await this.decisionPath.drain();
    await this.recorder.drain();
    await this.prices.stop();
  }
}
