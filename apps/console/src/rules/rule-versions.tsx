import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { type RuleDifference, ruleDifferences } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import type { Rule } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { Act } from '../ui/act.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { RuleChangeDialog } from './change-rule.tsx';

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
export function RuleVersions({ rule }: { rule: Rule }) {
  const { id: ruleId } = rule;
  const [opened, setOpened] = useState<number>();
  const [restoring, setRestoring] = useState<number>();
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
              {version !== rule.version && (
                <Act
                  scope="admin"
                  kind={`quiet sm ${version > 1 ? '' : 'ml'}`}
                  onPress={() => setRestoring(version)}
                >{`Restore v${version}…`}</Act>
              )}
            </div>
            {opened === version && (
              <VersionChanges ruleId={ruleId} version={version} hasSecret={changes.some(({ secret }) => secret)} />
            )}
          </li>
        ))}
      </ol>
      {restoring !== undefined && (
        <RuleChangeDialog
          rule={rule}
          title={`Restore version ${restoring}?`}
          verb={`Restore v${restoring}`}
          done={`Version ${restoring} is in force again`}
          change={(reason, headers) =>
            client.revertRule({ params: { id: ruleId }, body: { version: restoring, reason }, headers })
          }
          onClose={() => setRestoring(undefined)}
        >
          <p>It becomes version {rule.version + 1} and acts at once. Compared with now:</p>
          <ChangesBetween ruleId={ruleId} from={rule.version} to={restoring} />
        </RuleChangeDialog>
      )}
    </Section>
  );
}

/** What changes if one version takes the place of another. */
function ChangesBetween({ ruleId, from, to }: { ruleId: string; from: number; to: number }) {
  const read = useDifferences(ruleId, from, to);
  if (read.isError) return <p className="hint bad">The versions could not be compared. You can restore it anyway.</p>;
  if (read.data === undefined) return <p className="hint">Reading…</p>;
  if (read.data.length === 0) return <p className="hint">Both say the same.</p>;
  return <Differences differences={read.data} />;
}

function useDifferences(ruleId: string, from: number, to: number) {
  return useQuery({
    queryKey: ['rule', ruleId, 'versions', from, to],
    queryFn: async ({ signal }) => {
      const at = (number: number) => client.getRuleVersion({ params: { id: ruleId, version: String(number) }, signal });
      const [before, after] = await Promise.all([at(from), at(to)]);
      return ruleDifferences(before.rule, after.rule);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function VersionChanges({ ruleId, version, hasSecret }: { ruleId: string; version: number; hasSecret: boolean }) {
  const read = useDifferences(ruleId, version - 1, version);
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
