import type { RunScope } from '@agentlens/sdk/adapter';
import { endings, loopOf, loopOpening } from './guard-functions.ts';
import { guardSettings, type LoopScope, type SettingsGuard } from './guard-settings.ts';
import type { AiAgent, AiAgentClass, AiSettings } from './shapes.ts';

/**
 * An agent's class whose instances are guarded. Each call goes to an agent of the original class with the settings of
 * that call's run, so that two calls at once are two runs.
 */
export function guardAgentClass(host: SettingsGuard, Original: AiAgentClass): AiAgentClass {
  const { guard, dialect } = host;
  const guarded = (settings: AiSettings, loop: LoopScope): AiSettings => {
    const { prepareCall } = settings;
    const whole = guardSettings(host, settings, loop, dialect.agentSteps);
    if (prepareCall === undefined) return whole;
    return {
      ...whole,
      prepareCall: async (options) => guardSettings(host, await prepareCall(options), loop, dialect.agentSteps),
    };
  };
  /** What may be given with a call as well. */
  const ofCall = (options: AiSettings, loop: LoopScope): AiSettings => {
    const { model, tools, stopWhen, prepareStep } = options;
    const given = { model, tools, stopWhen, prepareStep };
    const named = Object.entries(given).filter(([, value]) => value !== undefined);
    if (named.length === 0) return { ...options, abortSignal: loop.signal };
    const names = new Set(named.map(([name]) => name));
    const all = guardSettings(host, { ...given }, loop, dialect.agentSteps);
    const kept = Object.entries(all).filter(([name]) => names.has(name));
    return { ...options, ...Object.fromEntries(kept), abortSignal: loop.signal };
  };

  return class GuardedAgent extends Original {
    readonly #settings: AiSettings;

    constructor(settings: AiSettings) {
      super(settings);
      this.#settings = settings;
    }

    override generate(options: AiSettings): Promise<unknown> {
      return guard.within(options, (scope) => {
        const loop = loopOf(scope, options);
        return new Original(guarded(this.#settings, loop)).generate(ofCall(options, loop));
      });
    }

    override stream(options: AiSettings): unknown {
      const opened = guard.open(options);
      return dialect.major === 5 ? this.#streamNow(options, opened) : this.#streamSoon(options, opened);
    }

    async #streamSoon(options: AiSettings, opened: Promise<RunScope>): Promise<unknown> {
      const scope = await opened;
      const loop = { ...loopOf(scope, options), stopped: () => false };
      try {
        return await this.#streaming(options, loop);
      } catch (error) {
        scope.noteFailure(error);
        await scope.end('error');
        throw scope.errorFor(error);
      }
    }

    #streamNow(options: AiSettings, opened: Promise<RunScope>): unknown {
      return this.#streaming(options, loopOpening(opened, options));
    }

    #streaming(options: AiSettings, loop: LoopScope): unknown {
      const settings = guarded(this.#settings, loop);
      const agent: AiAgent = new Original({ ...settings, ...endings(host, settings, loop.scoped) });
      const given = ofCall(options, loop);
      // Version 7 calls the callbacks of a call beside those of the agent, the others instead of them.
      if (dialect.major === 7) return agent.stream(given);
      const { onError, onAbort, onFinish } = { ...this.#settings, ...options };
      return agent.stream({ ...given, ...endings(host, { onError, onAbort, onFinish }, loop.scoped) });
    }
  };
}
