export { banner } from './banner.ts';
export { type Standalone, startStandalone } from './start-standalone.ts';
