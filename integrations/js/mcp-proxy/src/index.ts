export type { ProxyOptions } from './guard-of.ts';
export { proxyStdio } from './proxy-command.ts';
export { type ProxyStreams, proxyStreams } from './proxy-stdio.ts';
export { type HttpProxy, serveHttp } from './serve-http.ts';
