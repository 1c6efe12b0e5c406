import { useState } from 'react';
import { client } from '../api/client.ts';
import type { ModelConnection } from '../api/model.ts';
import { words } from '../people/team-dialog.tsx';
import { ifVersion } from '../people/use-people.ts';
import { Dialog, EditActs } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field } from '../ui/field.tsx';
import { useDialogChange } from '../ui/use-dialog-change.ts';

interface DialectText {
  readonly text: string;
  /** Address of the provider, unless the connection names another. */
  readonly address: string;
}

/** The compiler asks for the text of a new dialect. */
const DIALECT_TEXTS: Readonly<Record<ModelConnection['dialect'], DialectText>> = {
  anthropic: { text: 'Anthropic', address: 'https://api.anthropic.com' },
  openai: { text: 'OpenAI, and servers that speak it', address: 'https://api.openai.com/v1' },
  gemini: { text: 'Google Gemini', address: 'https://generativelanguage.googleapis.com' },
};
const DIALECTS = Object.entries(DIALECT_TEXTS) as [ModelConnection['dialect'], DialectText][];

/** Creates a connection or replaces it. Without a key, the stored one stays. */
export function ConnectionDialog({
  connection,
  connections,
  onClose,
}: {
  connection: ModelConnection | undefined;
  /** All of the tenant. */
  connections: readonly ModelConnection[];
  onClose: () => void;
}) {
  const { act, rejection } = useDialogChange(onClose);
  const [name, setName] = useState(connection?.name ?? '');
  const [dialect, setDialect] = useState<ModelConnection['dialect']>(connection?.dialect ?? 'anthropic');
  const [baseUrl, setBaseUrl] = useState(connection?.baseUrl ?? '');
  const [credential, setCredential] = useState('');
  const [models, setModels] = useState(connection?.models?.join(' ') ?? '');
  const [fallback, setFallback] = useState(connection?.fallback ?? '');
  const [firstByte, setFirstByte] = useState(connection?.firstByteSeconds?.toString() ?? '');
  const [enabled, setEnabled] = useState(connection?.enabled ?? true);
  const isReady = name.trim() !== '';
  const fallbacks = connections.filter((other) => other.dialect === dialect && other.name !== connection?.name);
  const save = () => {
    const named = words(models);
    return act('Connection saved. Gateways use it within 5 seconds.', () =>
      client.setModelConnection({
        params: { name: name.trim() },
        headers: ifVersion(connection?.version),
        body: {
          dialect,
          forwardHeaders: connection?.forwardHeaders ?? [],
          enabled,
          ...(baseUrl.trim() === '' ? {} : { baseUrl: baseUrl.trim() }),
          ...(credential.trim() === '' ? {} : { credential: credential.trim() }),
          ...(named.length === 0 ? {} : { models: named }),
          ...(fallback === '' ? {} : { fallback }),
          ...(firstByte.trim() === '' ? {} : { firstByteSeconds: Number(firstByte) }),
          ...(connection?.pricingProvider == null ? {} : { pricingProvider: connection.pricingProvider }),
        },
      }),
    );
  };
  return (
    <Dialog
      title={connection === undefined ? 'New model connection' : connection.name}
      open
      onClose={onClose}
      acts={
        <EditActs
          save="Save connection"
          isReady={isReady}
          onSave={() => void save()}
          onClose={onClose}
          remove={
            connection && {
              text: 'Delete connection',
              title: 'Calls in progress end, and new ones are refused within 5 seconds',
              onPress: () =>
                void act('Connection deleted, with its key', () =>
                  client.deleteModelConnection({
                    params: { name: connection.name },
                    headers: ifVersion(connection.version),
                  }),
                ),
            }
          }
        />
      }
    >
      <div className="kd">
        <div className="pair">
          <Field label="Name" wrong={rejection.at('params.name')} hint="A part of the address that agents use.">
            {(input) => (
              <input
                {...input}
                value={name}
                disabled={connection !== undefined}
                maxLength={63}
                placeholder="anthropic"
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field label="Dialect" wrong={rejection.at('dialect')}>
            {(input) => (
              <select
                {...input}
                value={dialect}
                onChange={({ target }) => {
                  setDialect(DIALECTS.find(([id]) => id === target.value)?.[0] ?? dialect);
                  setFallback('');
                }}
              >
                {DIALECTS.map(([id, { text }]) => (
                  <option key={id} value={id}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <Field
          label="Address of the provider"
          wrong={rejection.at('baseUrl')}
          hint="Empty: the provider's own. A stored key is dropped if the address changes."
        >
          {(input) => (
            <input
              {...input}
              className={`${input.className} mono`}
              value={baseUrl}
              placeholder={DIALECT_TEXTS[dialect].address}
              onChange={(event) => setBaseUrl(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="Key of the provider"
          wrong={rejection.at('credential')}
          hint={
            connection?.credential == null
              ? 'It is sealed and never shown again.'
              : `Stored, fingerprint ${connection.credential.fingerprint}. Leave it empty to keep it.`
          }
        >
          {(input) => (
            <input
              {...input}
              type="password"
              autoComplete="off"
              value={credential}
              onChange={(event) => setCredential(event.target.value)}
            />
          )}
        </Field>
        <Field label="Models that may be called" wrong={rejection.at('models')} hint="Patterns with *. Empty: all.">
          {(input) => (
            <input
              {...input}
              className={`${input.className} mono`}
              value={models}
              placeholder="claude-haiku-*"
              onChange={(event) => setModels(event.target.value)}
            />
          )}
        </Field>
        <div className="pair">
          <Field
            label="Fallback"
            wrong={rejection.at('fallback')}
            hint="Gets a call once if this provider gives no answer."
          >
            {(input) => (
              <select {...input} value={fallback} onChange={({ target }) => setFallback(target.value)}>
                <option value="">None</option>
                {fallbacks.map((other) => (
                  <option key={other.name} value={other.name}>
                    {other.name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field
            label="Seconds until the first byte"
            wrong={rejection.at('firstByteSeconds')}
            hint="A provider that is silent for longer has given no answer. Empty: 900."
          >
            {(input) => (
              <input
                {...input}
                inputMode="numeric"
                value={firstByte}
                placeholder="900"
                onChange={(event) => setFirstByte(event.target.value)}
              />
            )}
          </Field>
        </div>
        <label className="row">
          <input type="checkbox" checked={enabled} onChange={({ target }) => setEnabled(target.checked)} />
          <span>Enabled; a disabled connection keeps its key and refuses new calls</span>
        </label>
        <FailureLine>
          {rejection.besides(
            'params.name',
            'dialect',
            'baseUrl',
            'credential',
            'models',
            'fallback',
            'firstByteSeconds',
          )}
        </FailureLine>
      </div>
    </Dialog>
  );
}
