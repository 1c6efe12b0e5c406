import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { type RuleDifference, ruleDifferences } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';

const SOURCES: Readonly<Record<string, string>> = {
  api: 'edited',
  import: 'imported',
  promotion: 'promoted',
  revert: 'reverted',
  rollback: 'rolled back',
  ruleset: 'applied from a ruleset',
  suspension: 'suspended or resumed',
};
const NEWEST = 20;

/** Versions of a rule, newest first; each opens to what it changed. */
export function RuleVersions({ ruleId }: { ruleId: string }) {
  const [opened, setOpened] = useState<number>();
  const versions = useRead(['rule', ruleId, 'versions'], (signal) =>
    client.listRuleVersions({ params: { id: ruleId }, query: { limit: NEWEST }, signal }),
  ).data;
  if (versions === undefined || versions.versions.length === 0) return null;
  return (
    <Section title="Versions" note={versions.hasMore ? `newest ${NEWEST}` : undefined}>
      <ol className="versions">
        {versions.versions.map(({ version, changedAt, changedBy, source, reason, changes }) => (
          <li key={version}>
            <div className="row">
              <span className="num">v{version}</span>
              <span className="t3">
                <Moment at={changedAt} />
              </span>
              <span className="t2 clip">
                {version === 1 && source === 'api' ? 'created' : (SOURCES[source] ?? source)}
                {changedBy !== undefined && ` by ${visible(changedBy)}`}
                {reason !== undefined && `: ${visible(reason)}`}
              </span>
              {version > 1 && (
                <button
                  type="button"
                  className="b quiet sm ml"
                  aria-expanded={opened === version}
                  onClick={() => setOpened(opened === version ? undefined : version)}
                >
                  Changes
                </button>
              )}
            </div>
            {opened === version && (
              <VersionChanges ruleId={ruleId} version={version} hasSecret={changes.some(({ secret }) => secret)} />
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function VersionChanges({ ruleId, version, hasSecret }: { ruleId: string; version: number; hasSecret: boolean }) {
  const read = useQuery({
    queryKey: ['rule', ruleId, 'version', version],
    queryFn: async ({ signal }) => {
      const at = (number: number) => client.getRuleVersion({ params: { id: ruleId, version: String(number) }, signal });
      const [before, after] = await Promise.all([at(version - 1), at(version)]);
      return ruleDifferences(before.rule, after.rule);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (read.isError) return <p className="hint bad">The versions could not be read. Close and open them again.</p>;
  if (read.data === undefined) return <p className="hint">Reading…</p>;
  return (
    <>
      {read.data.length > 0 && <Differences differences={read.data} />}
      {hasSecret && <p className="hint">A secret was changed.</p>}
      {read.data.length === 0 && !hasSecret && <p className="hint">It says the same as version {version - 1}.</p>}
    </>
  );
}

/** Two versions of a rule, part by part, in words. */
export function Differences({ differences }: { differences: readonly RuleDifference[] }) {
  return (
    <div className="df">
      {differences.map(({ name, before, after }) => (
        <div key={name} className="dfg">
          <div className="fh">
            <span />
            <span>{name}</span>
          </div>
          <div className="m">
            <span>-</span>
            <span>{visible(before) || 'nothing'}</span>
          </div>
          <div className="p">
            <span>+</span>
            <span>{visible(after) || 'nothing'}</span>
          </div>
        </div>
      ))}
    </div>
  );
}
