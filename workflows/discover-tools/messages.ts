/** Ids only. */
export interface DiscoverToolsInput {
  tenantId: string;
  spaceId: string;
  serverId: string;
}

export interface DiscoverToolsResult {
  /** The server's status afterwards; `gone`: it was removed. */
  status: string;
  tools: number;
}
