import type { Command } from '@agentlens/contracts';
import { answerQuestion, encodeQuestion, readAnswer } from '../commands/command-wire.ts';
import { type BusLogger, CommandUnanswered, type Subscription } from '../event-bus.ts';
import { BackgroundWork } from '../util/in-flight.ts';
import { withTimeout } from '../util/promises.ts';

type Owner = (question: Uint8Array) => Promise<Uint8Array>;

/** Commands within one process, encoded as on the wire. Handlers of one subject take turns. */
export class MemoryCommands {
  private readonly owners = new Map<string, Owner[]>();
  private readonly running = new BackgroundWork();

  constructor(private readonly logger: BusLogger) {}

  serve<Q, A>(command: Command<Q, A>, handler: (question: Q) => Promise<A>): Subscription {
    const own = new BackgroundWork();
    const owner: Owner = (question) => {
      const answer = answerQuestion(command, handler, question, this.logger);
      for (const running of [own, this.running]) running.add(answer);
      return answer;
    };
    this.owners.set(command.subject, [...(this.owners.get(command.subject) ?? []), owner]);
    return {
      close: async () => {
        const others = (this.owners.get(command.subject) ?? []).filter((other) => other !== owner);
        this.owners.set(command.subject, others);
        await own.ended();
      },
    };
  }

  async request<Q, A>(command: Command<Q, A>, question: Q): Promise<A> {
    const owners = this.owners.get(command.subject) ?? [];
    const owner = owners.shift();
    if (!owner)
      throw new CommandUnanswered(`no handler for ${command.subject}`, { wasAsked: false, hasNoHandler: true });
    owners.push(owner);
    const bytes = encodeQuestion(question);
    const onTimeout = () =>
      new CommandUnanswered(`${command.subject} was not answered within ${command.deadlineMs} ms`);
    return readAnswer(command, await withTimeout(command.deadlineMs, owner(bytes), onTimeout));
  }

  async close(): Promise<void> {
    this.owners.clear();
    await this.running.ended();
  }
}
