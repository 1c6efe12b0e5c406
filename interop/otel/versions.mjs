import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENTS, HERE, pythonOf } from './environments.mjs';

const OF_INTEREST =
  /^(pydantic[-_]ai|logfire|openai|anthropic|langgraph|langchain|strands|openinference|opentelemetry[-_](sdk|instrumentation))/;

/** The versions of what an agent is made of, by package. */
export function versionsOf(name) {
  const { python } = AGENTS[name];
  if (python === undefined) {
    const { dependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'));
    return Object.fromEntries(Object.entries(dependencies).filter(([dependency]) => isOf(name, dependency)));
  }
  const code =
    'import importlib.metadata as m, json; print(json.dumps({d.metadata["Name"]: d.version for d in m.distributions()}))';
  const all = Object.entries(JSON.parse(execFileSync(pythonOf(python), ['-c', code], { encoding: 'utf8' })));
  return Object.fromEntries(all.filter(([dependency]) => OF_INTEREST.test(dependency)));
}

/** Where the standard library of this Python is. */
export function pythonHome(python) {
  return execFileSync(python, ['-c', 'import sys; print(sys.base_prefix)'], { encoding: 'utf8' }).trim();
}

function isOf(name, dependency) {
  const major = name.split('-').at(-1);
  if (dependency.startsWith('@opentelemetry/')) return true;
  return major === '7' ? /^(ai|@ai-sdk\/.*)$/.test(dependency) : dependency.startsWith(`ai-${major}`);
}
