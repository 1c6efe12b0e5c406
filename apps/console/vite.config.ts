import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm run dev` finds a running platform. */
const PLATFORM = 'http://127.0.0.1:3400';

export default defineConfig({
  // Relative: the page names its own base, which the server writes when it serves it.
  base: './',
  plugins: [react()],
  build: {
    outDir: 'built',
    emptyOutDir: true,
    manifest: 'manifest.json',
    // Vite would inline small files as data: URLs, which the Content-Security-Policy does not allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
  server: { proxy: { '/api': PLATFORM, '/v1': PLATFORM, '/openapi.json': PLATFORM } },
});
