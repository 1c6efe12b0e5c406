export { type Connector, type ConnectorResult, connectorTool } from './connector.ts';
export { type HttpConnectorOptions, httpConnector } from './http.ts';
export { kvConnector } from './kv.ts';
export { shellConnector } from './shell.ts';
export { type SqlConnectorOptions, type SqlDriver, sqlConnector } from './sql.ts';
