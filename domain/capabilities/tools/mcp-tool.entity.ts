import { defineEntity } from '@mikro-orm/core';
import { definitionSize } from './definition-size.ts';
import type { ToolState } from './server-status.ts';
import { definitionOf, type HiddenPlace, type ToolDefinition } from './tool-definition.ts';

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
    outputSchema: p.json<Record<string, unknown>>().nullable(),
    annotations: p.json<Record<string, unknown>>().nullable(),
    hiddenCharacters: p.json<HiddenPlace[]>().defaultRaw(`'[]'`),
    schemaHash: p.text(),
    requiresTask: p.boolean().default(false),
    definitionBytes: p.integer().default(0),
    definitionTokens: p.integer().default(0),
    approvedHash: p.text().nullable(),
    approvedDefinition: p.json<ToolDefinition>().nullable(),
    state: p.text().$type<ToolState>().default('new'),
    repeatable: p.boolean().default(false),
    requireApproval: p.boolean().nullable(),
    firstSeenAt: p.datetime().defaultRaw('now()'),
    lastSeenAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A tool as its server lists it, with the tenant's settings for it. */
export class McpTool extends schema.class {
  /** Applies the server's current definition. Earlier approvals applied to the earlier definition. */
  redefine(definition: ToolDefinition, schemaHash: string): void {
    if (this.schemaHash !== schemaHash) {
      this.repeatable = false;
      this.requireApproval = this.requireApproval === true ? true : null;
    }
    const { description, inputSchema: parameters } = definition;
    const { bytes, tokens } = definitionSize({ name: this.exposedName, description, parameters });
    Object.assign(this, definition, { schemaHash, definitionBytes: bytes, definitionTokens: tokens });
  }

  /** Approves the current definition. */
  approve(): void {
    this.state = 'approved';
    this.approvedHash = this.schemaHash;
    this.approvedDefinition = definitionOf(this);
  }

  /** Whether the current definition is the last approved one. */
  isAsApproved(): boolean {
    return this.approvedHash === this.schemaHash;
  }

  /** Offered and run only while it is as approved, and callable without a task. */
  isCallable(): boolean {
    return isApproved(this) && !this.requiresTask;
  }

  /**
   * Whether each call waits for consent: by the space's setting, else when the tool announces that it is destructive.
   */
  asksApproval(): boolean {
    return asksApproval(this);
  }
}
schema.setClass(McpTool);

type Standing = Pick<McpTool, 'state' | 'schemaHash' | 'approvedHash'>;

export function isApproved({ state, schemaHash, approvedHash }: Standing): boolean {
  return state === 'approved' && approvedHash === schemaHash;
}

export function asksApproval(tool: Pick<McpTool, 'annotations' | 'requireApproval'>): boolean {
  const { destructiveHint, readOnlyHint } = tool.annotations ?? {};
  return tool.requireApproval ?? (destructiveHint === true && readOnlyHint !== true);
}
