import { useEffect, useState } from 'react';
import { client, signIn, signInAddress } from '../api/client.ts';
import { problemText } from '../api/problem.ts';
import { FailureLine } from '../ui/failure-line.tsx';
import { Icon, Sprite } from '../ui/icon.tsx';

/** The code of a sign-in link follows the #, so it never reaches a server log. */
export function codeInAddress(hash: string): string | undefined {
  return /^#code=([\w-]+)$/.exec(hash)?.[1];
}

interface SignInOptions {
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  readonly keys: 'allowed' | 'break_glass';
}

/** Ways to sign in. Until they are known, and if they cannot be read, a key is the way. */
function useSignInOptions(): SignInOptions {
  const [options, setOptions] = useState<SignInOptions>({ providers: [], keys: 'allowed' });
  useEffect(() => {
    const tenant = new URLSearchParams(location.search).get('tenant');
    client.getSignInOptions({ query: tenant === null ? {} : { tenant } }).then(setOptions, () => undefined);
  }, []);
  return options;
}

/** Exchanges an API key for an HttpOnly cookie. */
export function SignInPage({ problem, onSignedIn }: { problem: string | undefined; onSignedIn: () => void }) {
  const [key, setKey] = useState('');
  const [error, setError] = useState(problem);
  const [busy, setBusy] = useState(false);
  const { providers, keys } = useSignInOptions();
  const submit = async () => {
    setBusy(true);
    try {
      await signIn({ key: key.trim() });
      setKey('');
      onSignedIn();
    } catch (cause) {
      setError(problemText(cause));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <Sprite />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="brand">
          <Icon name="mark" />
          AgentLens
        </p>
        <h1>Sign in</h1>
        {providers.map(({ id, name }) => (
          <a key={id} className="b pri lg" href={signInAddress(id)}>
            Continue with {name}
          </a>
        ))}
        <label className="field">
          <span className="lab">{keys === 'allowed' ? 'API key' : 'Break-glass key'}</span>
          <input
            className="in mono"
            type="password"
            autoComplete="current-password"
            placeholder="agk_live_…"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
          <span className="hint">
            It needs the scope read; review to decide approvals, admin to change things. It is kept in a cookie that
            scripts cannot read.
          </span>
        </label>
        <FailureLine>{error}</FailureLine>
        <button type="submit" className="b pri lg" aria-disabled={busy || key.trim() === '' || undefined}>
          Sign in
        </button>
        <p className="hint">
          <code>npm start</code> prints a link that signs this browser in without a key.
        </p>
      </form>
    </main>
  );
}
