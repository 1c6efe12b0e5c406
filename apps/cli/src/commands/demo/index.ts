import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@agentlens/client';
import type { CommandContext, DefineCommand, RuleAnswer } from '../../context.ts';
import { CommandError } from '../../errors.ts';
import { costOf } from '../../output/table.ts';
import { seconds } from '../../parse.ts';
import { PROGRAM } from '../../program-name.ts';
import { eventText } from '../events.ts';
import { buyWithApproval } from './purchase.ts';
import { ResearchAgent } from './research-agent.ts';
import { type DemoSetting, makeBuyingRule, makeSearchRules, removeLeftovers } from './rules.ts';
import { CleanupList, DemoScreen } from './screen.ts';

interface Watch {
  /** Ids of the rules that have fired. */
  readonly fired: ReadonlySet<string>;
  /** Resolves when the stream is closed. */
  stop(): Promise<void>;
}

/** Prints an agent's events and rule triggers as they are streamed. Resolves once the stream is open. */
async function watchAgent(
  client: Client,
  agentId: string,
  rules: readonly RuleAnswer[],
  screen: DemoScreen,
  interrupted: AbortSignal,
): Promise<Watch> {
  const fired = new Set<string>();
  const leaving = new AbortController();
  // A stream that cannot be opened is tried again for ever.
  const signal = AbortSignal.any([leaving.signal, interrupted]);
  const frames = client.openStream({ query: { agentId }, signal });
  // The platform sends a heartbeat as soon as the stream is open.
  await frames.next();
  const ended = (async () => {
    for await (const frame of frames) {
      if (frame.event === 'event') screen.event(eventText(frame.data), frame.data.isError);
      if (frame.event !== 'alert' || !rules.some(({ id }) => id === frame.data.ruleId)) continue;
      fired.add(frame.data.ruleId);
      screen.guardrail(`"${frame.data.name}" fires: ${frame.data.message}`);
    }
  })();
  return {
    fired,
    stop: async () => {
      leaving.abort();
      await ended;
    },
  };
}

const SETTLE_MS = 10_000;
const HUMAN_SECONDS = 60;

export const demo: DefineCommand = (command, context) => {
  command
    .option('--wait <seconds>', `how long to wait for a decision (default: ${HUMAN_SECONDS})`, seconds)
    .addHelpText('after', `\nTo follow the demo in two other terminals: ${PROGRAM} tail, ${PROGRAM} approvals watch`)
    .action(async ({ wait }) => {
      const { output } = context;
      const setting: DemoSetting = {
        client: await context.connect(),
        cleaner: await context.connect(new AbortController().signal),
        cleanups: new CleanupList(),
        screen: new DemoScreen(output),
      };
      try {
        await play(context, setting, (wait ?? HUMAN_SECONDS) * 1_000);
      } finally {
        const failures = await setting.cleanups.run();
        for (const failure of failures) output.note(`Not cleaned up: ${String(failure)}`);
      }
    });
};

/** Runs two misbehaving agents against a running platform and prints what the platform reports. */
async function play(context: CommandContext, setting: DemoSetting, waitMs: number): Promise<void> {
  const { client, cleaner, cleanups, screen } = setting;
  const name = randomUUID().slice(0, 6);
  const [searcher, buyer] = [`demo-agent-${name}`, `demo-buyer-${name}`];
  await removeLeftovers(setting);

  screen.chapter(`1. Rules for the agents "${searcher}" and "${buyer}"`);
  const rules = await makeSearchRules(setting, searcher);
  await makeBuyingRule(setting, buyer);

  screen.chapter('2. The agent runs; everything below comes from the live stream');
  const watch = await watchAgent(client, searcher, rules, screen, context.host.signal);
  cleanups.add(() => watch.stop());
  cleanups.add(() => cleaner.unpauseAgent({ params: { id: searcher }, body: { clearModelOverride: true } }));
  const agent = new ResearchAgent(client, searcher, screen, context.host.signal);
  const run = await agent.run();
  if (!run.paused) throw new CommandError('The agent was not paused. Check the log of the platform.');

  screen.chapter('3. Another agent wants to buy a report, which needs approval');
  await buyWithApproval({ context, client, screen, agentId: buyer, waitMs });

  screen.chapter('4. What the platform recorded');
  const history = await settledHistory(setting, searcher, Math.max(watch.fired.size, rules.length));
  for (const { ruleName, actionType, actionResult } of history)
    screen.action(`${ruleName}: ${actionType} ${actionResult}`);
  const session = await client.getSession({ params: { id: agent.sessionId } });
  const cost = costOf(session.totalCostUsd, session.unpricedCount);
  screen.note(
    `The run: ${session.eventCount} events, ${session.errorCount} errors, ${cost}. Stopped after ${run.tries} of 12 attempts.`,
  );

  screen.chapter('See for yourself');
  screen.note(`${PROGRAM} runs show ${agent.sessionId}`);
  screen.note(`${PROGRAM} rules history --agent ${searcher}`);
  screen.note(`${PROGRAM} decisions list --agent ${buyer}`);
  screen.note('The demo removes its rules and resumes its agent; events and history remain.');
}

/** Polls the agent's history until every action has finished, or until the timeout. */
async function settledHistory({ client }: DemoSetting, agentId: string, expected: number) {
  const deadlineMs = performance.now() + SETTLE_MS;
  for (;;) {
    const { triggers } = await client.listTriggers({ query: { agentId } });
    const isOpen = triggers.some(({ actionResult }) => actionResult === 'pending' || actionResult === 'retrying');
    if ((triggers.length >= expected && !isOpen) || performance.now() > deadlineMs) return triggers;
    await delay(100);
  }
}
