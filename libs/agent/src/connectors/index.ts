export { type Connector, type ConnectorResult, connectorTool } from './connector.ts';
export { type HttpConnectorOptions, httpConnector } from './http.ts';
export { kvConnector, shellConnector } from './local.ts';
export { type SqlConnectorOptions, type SqlDriver, sqlConnector } from './sql.ts';
