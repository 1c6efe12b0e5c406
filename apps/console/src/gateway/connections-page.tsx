import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { DAY_MS } from '../../../../libs/contracts/src/times.ts';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { ModelCall, ModelConnection } from '../api/model.ts';
import { problemText } from '../api/problem.ts';
import { duration, money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { NeedsAdmin, SettingsFrame } from '../settings/settings-frame.tsx';
import { useMay } from '../shell/me.tsx';
import { Act } from '../ui/act.tsx';
import { Copy } from '../ui/copy.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { ConnectionDialog } from './connection-dialog.tsx';

/** Providers behind the model gateway. Their keys are sealed and never shown again. */
export function ConnectionsPage() {
  const { may, why } = useMay('admin');
  const connections = useRead(['connections'], (signal) => client.listModelConnections({ signal }), may);
  const [open, setOpen] = useState<ModelConnection | 'new'>();
  return (
    <SettingsFrame title="Model connections">
      {may ? (
        <Read read={connections} what="Connections" rows={4}>
          {(data) => (
            <Section
              first
              title="Model connections"
              note={<span className="not-s">agents call /gw/&lt;name&gt; without the provider's key</span>}
              link={
                <span className="btns ml">
                  <Link className="link" to="/model-calls">
                    Model calls
                  </Link>
                  <Act scope="admin" kind="sm" onPress={() => setOpen('new')}>
                    New connection…
                  </Act>
                </span>
              }
            >
              {data.connections.length === 0 ? (
                <Empty title="No connections.">
                  With a connection, an agent changes only its base URL. AgentLens decides, counts and can stop each
                  model call, and the agent never has the provider's key.
                </Empty>
              ) : (
                data.connections.map((connection) => (
                  <Connection key={connection.name} connection={connection} onEdit={() => setOpen(connection)} />
                ))
              )}
              {open !== undefined && (
                <ConnectionDialog
                  connection={open === 'new' ? undefined : open}
                  connections={data.connections}
                  onClose={() => setOpen(undefined)}
                />
              )}
            </Section>
          )}
        </Read>
      ) : (
        <NeedsAdmin what="Model connections" why={why} />
      )}
    </SettingsFrame>
  );
}

function Connection({ connection, onEdit }: { connection: ModelConnection; onEdit: () => void }) {
  const { name, dialect, baseUrl, credential, models, enabled, fallback, firstByteSeconds } = connection;
  const [result, setResult] = useState<{ readonly works: boolean; readonly message: string }>();
  const [isTesting, setIsTesting] = useState(false);
  const address = new URL(`gw/${name}${dialect === 'openai' ? '/v1' : ''}`, document.baseURI).href;
  const from = useState(() => new Date(Date.now() - DAY_MS).toISOString())[0];
  const calls = useRead(['model-calls', 'last', name, from], (signal) =>
    client.listModelCalls({ query: { connection: name, from, limit: 200 }, signal }),
  );
  const test = async () => {
    setIsTesting(true);
    try {
      const { works, message } = await client.testModelConnection({ params: { name } });
      setResult({ works, message });
    } catch (error) {
      setResult({ works: false, message: problemText(error) });
    } finally {
      setIsTesting(false);
    }
  };
  return (
    <Section
      title={name}
      note={enabled ? dialect : `${dialect}, disabled`}
      link={
        <span className="btns ml">
          <Act scope="admin" kind="sm" disabled={isTesting} onPress={() => void test()}>
            {isTesting ? 'Testing' : 'Test'}
          </Act>
          <Act scope="admin" kind="sm" label={`Change ${name}`} onPress={onEdit}>
            Change…
          </Act>
        </span>
      }
    >
      <dl className="kv">
        <dt>Base URL for agents</dt>
        <dd className="row">
          <span className="mono">{address}</span> <Copy text={address} />
        </dd>
        <dt>Provider</dt>
        <dd className="mono">{visible(baseUrl)}</dd>
        <dt>Key</dt>
        <dd>
          {credential === null ? (
            'none'
          ) : (
            <>
              sealed, fingerprint <span className="mono">{credential.fingerprint}</span>, since{' '}
              <Moment at={credential.setAt} short />
            </>
          )}
        </dd>
        <dt>Models</dt>
        <dd>{models?.map(visible).join(', ') ?? 'all'}</dd>
        <dt>Fallback</dt>
        <dd>
          {fallback === null ? 'none' : <span className="mono">{fallback}</span>}
          {firstByteSeconds !== null && (
            <span className="t2">; no answer: after {duration(firstByteSeconds * 1_000)} without a first byte</span>
          )}
        </dd>
        <dt>Last 24 hours</dt>
        <dd>{calls.data === undefined ? '…' : <LastDay calls={calls.data.calls} hasMore={calls.data.hasMore} />}</dd>
      </dl>
      <p role="status" className="topped">
        {result !== undefined && <span className={result.works ? 'good' : 'bad'}>{result.message}.</span>}
      </p>
    </Section>
  );
}

function LastDay({ calls, hasMore }: { calls: readonly ModelCall[]; hasMore: boolean }) {
  if (calls.length === 0) return 'no calls';
  const bad = calls.find(({ outcome }) => outcome !== 'completed');
  const costUsd = calls.reduce((sum, call) => sum + (call.costUsd ?? 0), 0);
  return (
    <>
      {calls.length}
      {hasMore && '+'} {calls.length === 1 ? 'call' : 'calls'}, {money(costUsd)}
      {hasMore && ' for the newest 200'}
      {bad !== undefined && (
        <span className="t2">
          ; last without a whole answer: {bad.outcome.replaceAll('_', ' ')}
          {bad.stopReason !== null && `, ${visible(bad.stopReason)}`}
        </span>
      )}
    </>
  );
}
