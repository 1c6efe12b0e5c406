import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Where `npm run dev` finds a running platform. */
const PLATFORM = 'http://127.0.0.1:3400';

/**
 * uPlot formats numbers in the browser's language when it loads, and throws if the system names none that exists, such
 * as `en-US@posix`. The console formats its numbers itself.
 */
const chartLanguage: Plugin = {
  name: 'chart-language',
  transform(code, id) {
    if (!/\/uplot\/.*\.js$/.test(id)) return undefined;
    const fixed = code.replace('domEnv ? nav.language :', '');
    if (fixed === code) this.error('uPlot no longer reads nav.language: remove this plugin');
    return { code: fixed, map: null };
  },
};

/** Small modules of every page in one file: each file of its own costs a request and compresses worse. */
const COMMON =
  /\/src\/(?:ui\/(?:act|failure-line|icon|marks|section|strips|use-list-search)|time\/zone|breakers\/reasons)\.tsx?$|\/libs\/contracts\/src\/times\.ts$/;

export default defineConfig({
  // Relative: the page names its own base, which the server writes when it serves it.
  base: './',
  plugins: [react(), chartLanguage],
  build: {
    outDir: 'built',
    emptyOutDir: true,
    manifest: 'manifest.json',
    // Vite would inline small files as data: URLs, which the Content-Security-Policy does not allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'common', test: COMMON }] } } },
    target: 'es2023',
  },
  server: { proxy: { '/api': PLATFORM, '/v1': PLATFORM, '/openapi.json': PLATFORM } },
});
