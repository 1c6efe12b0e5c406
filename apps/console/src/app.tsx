import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { client, signIn } from './api/client.ts';
import { isRefused, problemOf, problemText } from './api/problem.ts';
import { makeRouter } from './router.tsx';
import { MeProvider } from './shell/me.tsx';
import { codeInAddress, SignInPage } from './sign-in/sign-in-page.tsx';
import { Failed } from './ui/faces.tsx';
import { Sprite } from './ui/icon.tsx';
import { platformClock } from './ui/moment.tsx';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 2 && !isRefused(error),
    },
  },
});

const router = makeRouter(queries);
// Loads the code and data of the page beside the session, not after it. A sign-in link has no session yet.
if (codeInAddress(location.hash) === undefined) void router.load();

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <SignedIn />
    </QueryClientProvider>
  );
}

function SignedIn() {
  const { pending, problem } = useSignInLink();
  const me = useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => client.getMe({ signal }),
    enabled: !pending,
    staleTime: 60_000,
  });
  useEffect(() => {
    if (me.data !== undefined) platformClock(me.data.now);
  }, [me.data]);
  if (pending) return null;
  const refused = me.error !== null && [401, 403].includes(problemOf(me.error).status);
  if (refused) return <SignInPage problem={problem} onSignedIn={() => void queries.resetQueries()} />;
  if (me.data === undefined && me.error !== null) {
    return (
      <main className="sign-in">
        <Sprite />
        <Failed what="The console" error={me.error} onRetry={() => void me.refetch()} />
      </main>
    );
  }
  if (me.data === undefined) return null;
  return (
    <MeProvider me={me.data}>
      <RouterProvider router={router} />
    </MeProvider>
  );
}

/** Removes the code from the address first, so that it is not used twice or kept in the history. */
function useSignInLink(): { pending: boolean; problem: string | undefined } {
  const [code] = useState(() => codeInAddress(location.hash));
  const [state, setState] = useState({ pending: code !== undefined, problem: undefined as string | undefined });
  useEffect(() => {
    if (code === undefined) return;
    history.replaceState(null, '', new URL('.', document.baseURI));
    signIn({ code }).then(
      (returnTo = '/') => {
        history.replaceState(null, '', new URL(returnTo.replace(/^\/+/, '') || '.', document.baseURI));
        setState({ pending: false, problem: undefined });
      },
      (error: unknown) => setState({ pending: false, problem: problemText(error) }),
    );
  }, [code]);
  return state;
}
