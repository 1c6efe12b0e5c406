import { Liquid } from 'liquidjs';
import { AgentError, messageOf } from '../../core/agent-error.ts';
import {
  checkOutput,
  checkTemplate,
  MAX_LOOP_TURNS,
  MAX_OUTPUT_CHARS,
  MAX_TEMPLATE_CHARS,
  type TemplateEngine,
} from '../template-engine.ts';

const RENDER_MS = 1_000;

/** Liquid without files and inherited properties. */
export function liquidEngine(): TemplateEngine {
  const nothing = {
    existsSync: () => false,
    exists: async () => false,
    readFileSync: none,
    readFile: async () => none(),
    resolve: () => '',
    contains: async () => false,
    containsSync: () => false,
  };
  const engine = new Liquid({
    ...{ ownPropertyOnly: true, strictFilters: true, strictVariables: false, dynamicPartials: false, cache: false },
    ...{ fs: nothing, relativeReference: false },
    ...{
      parseLimit: MAX_TEMPLATE_CHARS + 1,
      renderLimit: RENDER_MS,
      memoryLimit: MAX_OUTPUT_CHARS + 100 * MAX_LOOP_TURNS,
    },
  });
  return {
    name: 'liquid',
    async variables(text) {
      checkTemplate(text);
      return guarded(() => [...new Set(engine.globalVariablesSync(engine.parse(text)))].sort());
    },
    async render(text, data) {
      checkTemplate(text);
      return checkOutput(guarded(() => String(engine.parseAndRenderSync(text, data))));
    },
  };
}

function none(): never {
  throw new AgentError('template_invalid', 'templates do not include other files');
}

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    const message = messageOf(error);
    if (/limit exceeded/i.test(message))
      throw new AgentError('template_limit', 'the template takes too long or produces too much', { cause: error });
    throw new AgentError('template_invalid', message.split('\n')[0] ?? '', { cause: error });
  }
}
