import { defineEntity } from '@mikro-orm/core';
import {
  canBecome,
  type ConnectionMode,
  type ServerChallenge,
  type ServerError,
  type ServerStatus,
} from './server-status.ts';

const schema = defineEntity({
  name: 'McpServer',
  tableName: 'mcp_servers',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    slug: p.text(),
    displayName: p.text(),
    transportType: p.text().$type<'streamable_http'>().default('streamable_http'),
    url: p.text(),
    credentialRef: p.text().nullable(),
    credentialHeader: p.text().nullable(),
    credentialId: p.uuid().nullable(),
    connectionMode: p.text().$type<ConnectionMode>().default('none'),
    connectionResource: p.text().nullable(),
    clientCredentialId: p.uuid().nullable(),
    challenge: p.json<ServerChallenge>().nullable(),
    iconUrl: p.text().nullable(),
    status: p.text().$type<ServerStatus>().default('pending'),
    lastError: p.text().$type<ServerError>().nullable(),
    enabledTools: p.json<string[]>().defaultRaw(`'[]'`),
    toolsLeftOut: p.integer().default(0),
    discoveryCount: p.integer().default(0),
    lastCheckedAt: p.datetime().nullable(),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A tool server that a space is connected to, always over Streamable HTTP. */
export class McpServer extends schema.class {
  /** Whether `tool` is enabled; `*` enables every tool, future ones included. */
  enables(tool: string): boolean {
    return this.enabledTools.includes('*') || this.enabledTools.includes(tool);
  }

  become(status: ServerStatus): void {
    if (!canBecome(this.status, status)) {
      throw new Error(`A ${this.status} tool server cannot become ${status}.`);
    }
    this.status = status;
  }
}
schema.setClass(McpServer);
