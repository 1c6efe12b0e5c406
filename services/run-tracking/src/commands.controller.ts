import { COMMANDS, type QuestionOf } from '@agentlens/contracts';
import { HandlesCommand } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { Repricer } from './prices/repricer.ts';
import { ActorEraser } from './removal/actor-eraser.ts';
import { RunDeleter } from './removal/run-deleter.ts';

/** Every command that this service answers. */
@Controller()
export class RunTrackingCommands {
  constructor(
    @Inject(RunDeleter) private readonly deleter: RunDeleter,
    @Inject(ActorEraser) private readonly eraser: ActorEraser,
    @Inject(Repricer) private readonly repricer: Repricer,
  ) {}

  @HandlesCommand(COMMANDS.deleteRun)
  deleteRun(question: QuestionOf<typeof COMMANDS.deleteRun>) {
    return this.deleter.delete(question);
  }

  @HandlesCommand(COMMANDS.eraseActor)
  eraseActor(question: QuestionOf<typeof COMMANDS.eraseActor>) {
    return this.eraser.begin(question);
  }

  @HandlesCommand(COMMANDS.startReprice)
  startReprice(question: QuestionOf<typeof COMMANDS.startReprice>) {
    return this.repricer.begin(question);
  }
}
