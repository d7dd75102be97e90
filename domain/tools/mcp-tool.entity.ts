import { defineEntity } from '@mikro-orm/core';
import type { ToolState } from './server-status.ts';

const schema = defineEntity({
  name: 'McpTool',
  tableName: 'mcp_tools',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    serverId: p.uuid().primary(),
    name: p.text().primary(),
    exposedName: p.text(),
    title: p.text().nullable(),
    description: p.text(),
    inputSchema: p.json<Record<string, unknown>>(),
    annotations: p.json<Record<string, unknown>>().nullable(),
    schemaHash: p.text(),
    approvedHash: p.text().nullable(),
    state: p.text().$type<ToolState>().default('new'),
    repeatable: p.boolean().default(false),
    requireApproval: p.boolean().default(false),
    firstSeenAt: p.datetime().defaultRaw('now()'),
    lastSeenAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A tool as its server lists it, and what we decided about it. */
export class McpTool extends schema.class {
  /** Takes today's definition as the approved one. */
  approve(): void {
    this.state = 'approved';
    this.approvedHash = this.schemaHash;
  }

  /** Offered and run only as long as it is what was approved. */
  isApproved(): boolean {
    return this.state === 'approved' && this.approvedHash === this.schemaHash;
  }
}
schema.setClass(McpTool);
