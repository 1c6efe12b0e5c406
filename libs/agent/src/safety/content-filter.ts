import { redact } from '@agentlens/sdk';
import { RE2JS } from 're2js';
import { AgentError } from '../core/agent-error.ts';
import type { SafetyFilter, SafetyPhase } from './safety-policy.ts';

export interface PatternFilterOptions {
  readonly name: string;
  /** RE2 syntax, which matches in linear time. */
  readonly patterns: readonly string[];
  /** Default `block`. `modify` replaces matches with `replacement`. */
  readonly action?: 'block' | 'modify';
  readonly replacement?: string;
  readonly control?: 'continue' | 'terminate';
  readonly phases?: readonly SafetyPhase[];
}

/** A case-insensitive pattern filter. @throws AgentError `invalid_config` */
export function patternFilter(options: PatternFilterOptions): SafetyFilter {
  const { name, action = 'block', replacement = '[removed]', control = 'continue', phases } = options;
  const patterns = options.patterns.map((pattern) => compile(name, pattern));
  return {
    name,
    ...(phases === undefined ? {} : { phases }),
    check(text) {
      const found = patterns.filter((pattern) => pattern.matcher(text).find());
      if (found.length === 0) return { action: 'allow' };
      if (action === 'block') return { action: 'block', reason: `the text is of the kind "${name}"`, control };
      return {
        action: 'modify',
        text: found.reduce(
          (rest, pattern) => pattern.matcher(rest).replaceAll(RE2JS.quoteReplacement(replacement)),
          text,
        ),
      };
    },
  };
}

function compile(name: string, pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw new AgentError('invalid_config', `filter "${name}": ${JSON.stringify(pattern)} is not a valid RE2 pattern`, {
      cause: error,
    });
  }
}

/** Removes secrets and personal data with the SDK's detectors. */
export function redactionFilter(phases: readonly SafetyPhase[]): SafetyFilter {
  return {
    ...{ name: 'redaction', phases },
    check(text) {
      const { text: cleaned, findings } = redact(text);
      return findings.length === 0 ? { action: 'allow' } : { action: 'modify', text: cleaned };
    },
  };
}
